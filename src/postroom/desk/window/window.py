"""One popup from appearing to its end, whatever draws it."""

from __future__ import annotations

import contextlib
import ctypes
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Final

from postroom.desk import history
from postroom.desk.model import PopupEnding, PopupOutcome, Sheet, WindowEvent, WindowSign
from postroom.kernel.database.rows import UNREADABLE, of_json, to_json

# How the server and this process write it: one JSON object per line, without what is as always.


def encode(value: Sheet | WindowEvent) -> bytes:
    return to_json(value).encode("ascii") + b"\n"


def decode_event(line: bytes) -> WindowEvent:
    """Raises ValueError for what is none."""
    try:
        return of_json(WindowEvent, line.decode("ascii"))
    except UNREADABLE as error:
        raise ValueError("no event of a window") from error


def decode_sheet(line: bytes) -> Sheet:
    return of_json(Sheet, line.decode("ascii"))


# The monitors of this desktop, the primary one first.


def monitors(whole: Area) -> list[Area]:
    """Just the whole screen where nothing more is known."""
    try:
        found = _windows() if sys.platform == "win32" else [] if sys.platform == "darwin" else _x11()
    except (OSError, AttributeError):
        found = []
    return found or [whole]


class _MonitorInfo(ctypes.Structure):
    """XRRMonitorInfo"""

    _fields_ = (
        ("name", ctypes.c_ulong),
        ("primary", ctypes.c_int),
        ("automatic", ctypes.c_int),
        ("outputs_count", ctypes.c_int),
        ("x", ctypes.c_int),
        ("y", ctypes.c_int),
        ("width", ctypes.c_int),
        ("height", ctypes.c_int),
        ("width_mm", ctypes.c_int),
        ("height_mm", ctypes.c_int),
        ("outputs", ctypes.c_void_p),
    )


def _x11() -> list[Area]:
    xlib = ctypes.CDLL("libX11.so.6")
    randr = ctypes.CDLL("libXrandr.so.2")
    xlib.XOpenDisplay.restype = ctypes.c_void_p
    xlib.XDefaultRootWindow.restype = ctypes.c_ulong
    xlib.XDefaultRootWindow.argtypes = xlib.XCloseDisplay.argtypes = [ctypes.c_void_p]
    randr.XRRGetMonitors.restype = ctypes.POINTER(_MonitorInfo)
    randr.XRRGetMonitors.argtypes = [ctypes.c_void_p, ctypes.c_ulong, ctypes.c_int, ctypes.POINTER(ctypes.c_int)]
    randr.XRRFreeMonitors.argtypes = [ctypes.POINTER(_MonitorInfo)]
    display = xlib.XOpenDisplay(None)
    if not display:
        return []
    count = ctypes.c_int()
    infos = randr.XRRGetMonitors(display, xlib.XDefaultRootWindow(display), 1, ctypes.byref(count))
    try:
        return _primary_first([infos[index] for index in range(count.value)] if infos else [])
    finally:
        if infos:
            randr.XRRFreeMonitors(infos)
        xlib.XCloseDisplay(display)


def _primary_first(infos: list[_MonitorInfo]) -> list[Area]:
    ordered = sorted(infos, key=lambda info: not info.primary)
    return [Area(x=info.x, y=info.y, width=info.width, height=info.height) for info in ordered]


def _windows() -> list[Area]:
    """The monitor under the pointer alone; Windows itself falls back to the primary one."""
    from ctypes import wintypes

    class Info(ctypes.Structure):
        _fields_ = (
            ("size", wintypes.DWORD),
            ("monitor", wintypes.RECT),
            ("work", wintypes.RECT),
            ("flags", wintypes.DWORD),
        )

    user32 = ctypes.windll.user32  # type: ignore[attr-defined]
    user32.MonitorFromPoint.restype = wintypes.HANDLE
    user32.MonitorFromPoint.argtypes = [wintypes.POINT, wintypes.DWORD]
    user32.GetMonitorInfoW.argtypes = [wintypes.HANDLE, ctypes.POINTER(Info)]
    point, info = wintypes.POINT(), Info(size=ctypes.sizeof(Info))
    user32.GetCursorPos(ctypes.byref(point))
    if not user32.GetMonitorInfoW(user32.MonitorFromPoint(point, 1), ctypes.byref(info)):
        return []
    work = info.work
    return [Area(x=work.left, y=work.top, width=work.right - work.left, height=work.bottom - work.top)]


# Where on the screens the window goes.

_MARGIN = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    x: int
    y: int
    width: int
    height: int

    def holds(self, x: int, y: int) -> bool:
        return self.x <= x < self.x + self.width and self.y <= y < self.y + self.height


def monitor_for(monitors: Sequence[Area], pointer: tuple[int, int]) -> Area:
    """The one with the pointer, else the primary one, which comes first."""
    return next((monitor for monitor in monitors if monitor.holds(*pointer)), monitors[0])


def centred(monitor: Area, width: int, height: int) -> Area:
    """In the middle, and never larger than the monitor."""
    width, height = min(width, monitor.width - 2 * _MARGIN), min(height, monitor.height - 2 * _MARGIN)
    return Area(
        x=monitor.x + (monitor.width - width) // 2,
        y=monitor.y + (monitor.height - height) // 2,
        width=width,
        height=height,
    )


# When a popup gives up waiting.


def due_at(*, opened: float, timeout: float | None, active: float | None, grace: float) -> float | None:
    """Not before the timeout, and not while the person is at it: `grace` seconds after the last sign of that."""
    if timeout is None:
        return None
    due = opened + timeout
    return due if active is None else max(due, active + grace)


def notice(*, opened: float, timeout: float | None, due: float | None, now: float) -> str:
    if timeout is None or due is None:
        return ""
    if now >= opened + timeout:
        return "Waiting while you type"
    seconds = math.ceil(opened + timeout - now)
    minutes, seconds = divmod(seconds, 60)
    return f"Closes in {minutes}:{seconds:02d}" if minutes else f"Closes in {seconds} s"


# The sitting.

PULSE_MILLISECONDS = 50
_TICK_SECONDS = 1.0
_TURN_SECONDS = 0.2
_COUNT_FROM = 9_000
_PREVIEW_LENGTH = 40
HINT = "Enter submits, Shift+Enter breaks the line"
LINGER_SECONDS = 600.0
"""How long a closed window stays around, unseen, because text was copied from it."""

CLOSE = "close"
HANG_UP = "hang up"
"""What the command queue holds when the server has gone away."""

Filled = Mapping[str, Sequence[str]]
_NOTHING: Final[Filled] = {}


def refusal(sheet: Sheet, text: str, chosen: Sequence[str], fields: Filled) -> str:
    """Why this is no answer; empty when it is one, or when anything may be submitted."""
    if not sheet.needs_answer:
        return ""
    if sheet.fields:
        missing = [field.label for field in sheet.fields if field.required and not fields.get(field.name)]
        if missing:
            return f"Still missing: {', '.join(missing)}"
        return "" if fields else "Fill in the form first"
    if chosen and text.strip():
        return "Either choose or write: empty the text to choose"
    if chosen or text.strip():
        return ""
    return "Choose something first" if sheet.options and not sheet.has_reply else "Write something first"


def _takes_words(sheet: Sheet) -> bool:
    return sheet.wait_for_response and sheet.has_reply and not sheet.secret and not sheet.text


class Sitting:
    def __init__(
        self,
        sheet: Sheet,
        *,
        emit: Callable[[WindowEvent], None],
        commands: SimpleQueue[str],
        clock: Callable[[], float],
    ) -> None:
        self.sheet = sheet
        self.over = False
        self._emit = emit
        self._commands = commands
        self._clock = clock
        self._opened = clock()
        self._active: float | None = None
        self._next_tick = self._opened
        self._next_turn = self._opened
        self._length = 0
        self._refusal = ""
        self._offered = self._other_drafts() if _takes_words(sheet) else []

    def shown(self) -> None:
        self._opened = self._clock()
        self._emit(WindowEvent(sign=WindowSign.MAPPED))

    def fail(self, outcome: PopupOutcome) -> None:
        self._emit(WindowEvent(sign=WindowSign.FAILED, ending=PopupEnding(outcome=outcome)))

    def active(self) -> None:
        """A key was pressed or the pointer moved over a plain message."""
        self._active = self._clock()

    def typed(self, text: str) -> None:
        """Called on every change; a secret is kept nowhere, and nothing is after the end."""
        if self.over:
            return
        self.active()
        self._refusal = ""
        self._length = len(text)
        if not self.sheet.secret:
            with contextlib.suppress(OSError):
                history.save(Path(self.sheet.draft_file), text)

    def submit(self, text: str, chosen: Iterable[str] = (), fields: Filled = _NOTHING) -> bool:
        """False, and nothing happens but a line that says why, when this cannot be taken."""
        picked = list(chosen)
        if len(text) > self.sheet.reply_limit:
            return False
        self._refusal = self._too_early() or refusal(self.sheet, text, picked, fields)
        if self._refusal:
            return False
        empty = not text.strip() and not picked and not fields
        self.end(PopupOutcome.EMPTY if empty else PopupOutcome.SUBMITTED, text, picked, fields)
        return True

    def decline(self) -> bool:
        """As `submit`: it is an answer, too."""
        self._refusal = self._too_early()
        if not self._refusal:
            self.end(PopupOutcome.DECLINED)
        return not self._refusal

    def end(self, outcome: PopupOutcome, text: str = "", chosen: Iterable[str] = (), fields: Filled = _NOTHING) -> None:
        """What stood in a form is handed over however it ends: it has no draft."""
        if not self.over:
            self.over = True
            history.give_turn_back(Path(self.sheet.turn_file), self.sheet.turn_token)
            filled = {name: tuple(values) for name, values in fields.items()}
            ending = PopupEnding(outcome=outcome, text=text, chosen=tuple(chosen), fields=filled)
            self._emit(WindowEvent(sign=WindowSign.ENDED, ending=ending))

    def pulse(self) -> PopupOutcome | None:
        """Called some twenty times a second; how the popup must end now, if it must."""
        now = self._clock()
        if now >= self._next_tick:
            self._next_tick = now + _TICK_SECONDS
            history.keep_turn(Path(self.sheet.turn_file), self.sheet.turn_token)
            self._emit(WindowEvent(sign=WindowSign.TICK))
        due = self._due()
        if due is not None and now >= due:
            return PopupOutcome.TIMEOUT
        return PopupOutcome.REPLACED if self._told_to_close() or self._turn_is_over(now) else None

    def notice(self) -> tuple[str, bool]:
        """A line for the foot of the window, and whether it is a warning."""
        limit = self.sheet.reply_limit
        if self._length > limit:
            return f"{self._length:,} of {limit:,} characters: too long to submit", True
        if self._refusal:
            return self._refusal, True
        if self._length > _COUNT_FROM:
            return f"{self._length:,} of {limit:,} characters", False
        if not self.sheet.wait_for_response:
            return "", False
        timeout = self.sheet.timeout_seconds
        if timeout is None:
            return (HINT if self.sheet.has_reply and not self.sheet.secret else ""), False
        return notice(opened=self._opened, timeout=timeout, due=self._due(), now=self._clock()), False

    def offer(self) -> tuple[str, int] | None:
        """The newest unsent text of this project, and how many more there are."""
        return (self._offered[0].text, len(self._offered) - 1) if self._offered else None

    def offer_label(self) -> str:
        offer = self.offer()
        if offer is None:
            return ""
        preview, more = " ".join(offer[0].split()), offer[1]
        shown = preview if len(preview) <= _PREVIEW_LENGTH else preview[: _PREVIEW_LENGTH - 1] + "…"
        return f"Unsent: “{shown}”" + (f" (+{more})" if more else "")

    def take_offer(self) -> None:
        """Call once the text stands in the input, and so in this popup's own draft; or to throw it away."""
        history.discard(self._offered.pop(0).file)

    def _too_early(self) -> str:
        early = self._clock() - self._opened < self.sheet.settle_seconds
        return "This has only just appeared: please press again" if early else ""

    def _due(self) -> float | None:
        return due_at(
            opened=self._opened,
            timeout=self.sheet.timeout_seconds,
            active=self._active,
            grace=self.sheet.grace_seconds,
        )

    def _told_to_close(self) -> bool:
        try:
            command = self._commands.get_nowait()
        except Empty:
            return False
        return command == CLOSE or self.sheet.wait_for_response

    def _turn_is_over(self, now: float) -> bool:
        if now < self._next_turn:
            return False
        self._next_turn = now + _TURN_SECONDS
        return history.turn_is_over(Path(self.sheet.turn_file), self.sheet.turn_token)

    def _other_drafts(self) -> list[history.ReplyDraft]:
        own = Path(self.sheet.draft_file)
        return [draft for draft in history.waiting(own.parent) if draft.file != own]
