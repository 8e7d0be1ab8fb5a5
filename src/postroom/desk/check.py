"""`postroom desk --check`: whether a popup can be shown here, and how it would look."""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from postroom.desk.acts import DEFAULT_TITLE
from postroom.desk.asks.asking import HouseholdAddress
from postroom.desk.desk import WindowProcess
from postroom.desk.history import Who
from postroom.desk.look import System, palette_for, player
from postroom.desk.model import PopupEnding, PopupOutcome, PopupSettings, Sheet, WindowSign, answer
from postroom.kernel.values.fields import strict_json

_MESSAGE = "This is how a question looks.\n\nEnter submits, Shift+Enter starts a new line, Escape cancels."
_HISTORY = (
    (Who.ASSISTANT.value, "An earlier question from your assistant stands here."),
    (Who.PERSON.value, "And your answer to it here."),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PopupPreview:
    outcome: PopupOutcome
    milliseconds: int


def check(
    settings: PopupSettings,
    *,
    system: System | None = None,
    household: HouseholdAddress | None = None,
    as_json: bool = False,
) -> int:
    """Prints what it finds; 0 when a popup can be shown."""
    system = system or System()
    palette = palette_for("auto", system)
    preview = asyncio.run(_preview(settings, palette))
    found = dict(_report(settings, system, palette, preview))
    found["questions"] = f"of {household.url}" if household else "none: no household is named here"
    shown = preview.outcome is PopupOutcome.DISPLAYED
    sys.stdout.write(_document(found, shown) if as_json else "".join(f"{name:<15}{it}\n" for name, it in found.items()))
    return 0 if shown else 1


def _document(found: dict[str, str], shown: bool) -> str:
    named = {name.replace(" ", "_"): value for name, value in found.items()}
    return strict_json({"shown": shown, **named}, ensure_ascii=False, indent=2) + "\n"


def _report(
    settings: PopupSettings,
    system: System,
    palette: str,
    preview: PopupPreview,
) -> Iterator[tuple[str, str]]:
    shown = preview.outcome is PopupOutcome.DISPLAYED
    yield "popup", f"shown after {preview.milliseconds} ms" if shown else answer(PopupEnding(outcome=preview.outcome))
    yield "theme", palette
    heard = "on (it hears nothing from this window: answer in the console or on the phone)"
    yield "screen reader", heard if _screen_reader_is_on(system) else "off"
    found = "winsound" if system.platform == "win32" else (player() or ("no player found",))[0]
    yield "chimes", found
    yield "history", f"{settings.voicemode / 'logs' / 'conversations'}, {settings.history_limit} exchanges"
    yield "drafts", str(settings.drafts)


def _screen_reader_is_on(system: System) -> bool:
    match system.platform:
        case "darwin":
            return system.output("defaults", "read", "com.apple.universalaccess", "voiceOverOnOffKey") == "1"
        case "win32":
            return bool(system.registry(r"Software\Microsoft\Narrator\NoRoam", "RunningState") == 1)
        case _:
            status = ("--dest", "org.a11y.Bus", "--object-path", "/org/a11y/bus")
            get = ("--method", "org.freedesktop.DBus.Properties.Get", "org.a11y.Status", "ScreenReaderEnabled")
            return "true" in (system.output("gdbus", "call", "--session", "--timeout", "1", *status, *get) or "")


async def _preview(settings: PopupSettings, palette: str) -> PopupPreview:
    """Logs nothing and takes no other popup's turn."""
    started = time.monotonic()
    window = WindowProcess()
    with tempfile.TemporaryDirectory() as folder:
        window.show(_sheet(Path(folder), palette))
        appeared = started
        try:
            async with asyncio.timeout(settings.show_seconds):
                while (event := await window.event()) is not None:
                    match event.sign:
                        case WindowSign.MAPPED:
                            appeared = time.monotonic()
                        case WindowSign.ENDED:
                            return PopupPreview(
                                outcome=PopupOutcome.DISPLAYED, milliseconds=round((appeared - started) * 1000)
                            )
                        case WindowSign.FAILED:
                            has_none = event.ending is not None and event.ending.outcome is PopupOutcome.NO_TOOLKIT
                            outcome = PopupOutcome.NO_TOOLKIT if has_none else PopupOutcome.HEADLESS
                            return PopupPreview(outcome=outcome, milliseconds=0)
                        case WindowSign.TICK:
                            pass
        except TimeoutError:
            window.kill()
            return PopupPreview(outcome=PopupOutcome.HEADLESS, milliseconds=0)
    return PopupPreview(outcome=PopupOutcome.CRASHED, milliseconds=0)


def _sheet(folder: Path, palette: str) -> Sheet:
    return Sheet(
        message=_MESSAGE,
        title=DEFAULT_TITLE,
        history=_HISTORY,
        palette=palette,
        draft_file=str(folder / "draft.json"),
        turn_file=str(folder / "turn"),
        turn_token="check",  # noqa: S106
        preview=True,
    )
