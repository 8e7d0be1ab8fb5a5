"""One popup at a time: opens it, waits for the person, keeps what was said."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from random import Random

from postroom.desk.acts import PopupQuestion
from postroom.desk.history import (
    ConversationLog,
    Who,
    discard,
    folder_for,
    give_turn_back,
    prune,
    screen_is_free,
    take_turn,
)
from postroom.desk.look import Chimes, System, palette_for
from postroom.desk.model import (
    CLOSE_LINE,
    REPLY_LIMIT,
    PopupEnding,
    PopupOutcome,
    PopupSettings,
    Sheet,
    WindowEvent,
    WindowSign,
)
from postroom.desk.window.window import decode_event, encode
from postroom.kernel.values.ids import IdMint, to_us

# The window's process, seen from the server.

_CLOSE_SECONDS = 2.0


class WindowProcess:
    """
    Started at once and told what to show a little later, so that both sides prepare side by side.

    It is started in a session of its own: a message without a question may
    outlive the server by some seconds, and so may text copied from the window.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._events: asyncio.Queue[WindowEvent | None] = asyncio.Queue()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "postroom.desk.window"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        self._gone = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()

    def show(self, sheet: Sheet) -> None:
        self._write(encode(sheet))

    async def event(self) -> WindowEvent | None:
        """The next thing the window says; None once it has nothing more to say."""
        return await self._events.get()

    def close(self) -> None:
        """Asks the window to go and makes sure that it does. Returns at once, so it is safe while being cancelled."""
        threading.Thread(target=self._see_it_out, daemon=True).start()

    def kill(self) -> None:
        self._process.kill()

    def _write(self, line: bytes) -> None:
        stdin = self._process.stdin
        with contextlib.suppress(OSError, ValueError):
            if stdin is not None:
                stdin.write(line)
                stdin.flush()

    def _read(self) -> None:
        for line in self._process.stdout or ():
            with contextlib.suppress(ValueError):
                self._heard(decode_event(line))
        self._process.wait()
        self._heard(None)

    def _heard(self, event: WindowEvent | None) -> None:
        if event is None or event.sign in (WindowSign.ENDED, WindowSign.FAILED):
            self._gone.set()
        with contextlib.suppress(RuntimeError):  # the server's loop has ended before the window
            self._loop.call_soon_threadsafe(self._events.put_nowait, event)

    def _see_it_out(self) -> None:
        self._write(CLOSE_LINE)
        if not self._gone.wait(_CLOSE_SECONDS):
            self._process.kill()


# The desk.

logger = logging.getLogger(__name__)

Progress = Callable[[float], Awaitable[None]]
"""Told now and then how many seconds the call has been waiting."""


@dataclass(slots=True, kw_only=True)
class _Popup:
    token: str
    process: WindowProcess
    replaced: bool = field(default=False)

    def replace(self) -> None:
        self.replaced = True
        self.process.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What every sheet of this screen has in common."""

    token: str
    turn_file: str
    drafts: Path
    palette: str
    message_seconds: float


SheetFor = Callable[[Look], Sheet]


async def _tell_no_client(_seconds: float) -> None:
    """No call waits for this popup."""


class Desk:
    def __init__(
        self,
        settings: PopupSettings,
        *,
        system: System | None = None,
        now: Callable[[], datetime] = lambda: datetime.now().astimezone(),
        dice: Random | None = None,
    ) -> None:
        self._settings = settings
        self._system = system or System()
        self._now = now
        self._mint = IdMint()
        self._log = ConversationLog(settings.voicemode, settings.project_path, now=now, dice=dice or Random())
        self._chimes = Chimes(settings.voicemode)
        self._current: _Popup | None = None
        self._calls = 0
        self._calling = 0

    async def notify(self, question: PopupQuestion, progress: Progress) -> PopupEnding:
        """Cancelling the call closes its window; what was typed stays as a draft."""
        self._calls += 1
        self._calling += 1
        try:
            return await self._ask(self._calls, question, progress)
        finally:
            self._calling -= 1

    def is_free(self) -> bool:
        """Whether no popup has the screen, of this server or of another one."""
        return not self._calling and screen_is_free(self._settings.turn)

    async def show(self, sheet_for: SheetFor) -> PopupEnding:
        """What is not a call and so takes no call's place: REPLACED at once unless the screen is free."""
        if not self.is_free():
            return PopupEnding(outcome=PopupOutcome.REPLACED)

        async def then(popup: _Popup, sheet: Sheet) -> PopupEnding:
            waits = sheet.wait_for_response
            return await self._end_of(popup, _tell_no_client) if waits else PopupEnding(outcome=PopupOutcome.DISPLAYED)

        return await self._in_window(lambda token: sheet_for(self._look(token)), then)

    async def _ask(self, call: int, question: PopupQuestion, progress: Progress) -> PopupEnding:
        if call != self._calls:
            return PopupEnding(outcome=PopupOutcome.REPLACED)

        async def then(popup: _Popup, sheet: Sheet) -> PopupEnding:
            return await self._conversation(popup, sheet, question, progress)

        return await self._in_window(partial(self._sheet, question), then)

    async def _in_window(
        self,
        sheet_for: Callable[[str], Sheet],
        then: Callable[[_Popup, Sheet], Awaitable[PopupEnding]],
    ) -> PopupEnding:
        popup = self._open()
        try:
            sheet = await asyncio.to_thread(sheet_for, popup.token)
            await asyncio.to_thread(popup.process.show, sheet)
            failure = await self._appearance_of(popup)
            if failure:
                give_turn_back(self._settings.turn, popup.token)
            return failure or await then(popup, sheet)
        except BaseException:
            popup.process.close()
            raise

    def _look(self, token: str) -> Look:
        return Look(
            token=token,
            turn_file=str(self._settings.turn),
            drafts=self._settings.drafts,
            palette=palette_for("auto", self._system),
            message_seconds=self._settings.display_only_seconds,
        )

    def _open(self) -> _Popup:
        if self._current is not None:
            self._current.replace()
        token = self._mint.mint(to_us(self._now()))
        self._take_turn(token)
        self._current = _Popup(token=token, process=WindowProcess())
        return self._current

    def _sheet(self, question: PopupQuestion, token: str) -> Sheet:
        settings = self._settings
        folder = folder_for(settings.drafts, settings.project_path, question.project)
        prune(folder)
        history = self._log.history(settings.history_limit) if question.show_history else ()
        stay = question.timeout if question.wait_for_response else question.timeout or settings.display_only_seconds
        return Sheet(
            message=question.message,
            title=question.title,
            project=question.project,
            history=tuple((line.who.value, line.text) for line in history),
            wait_for_response=question.wait_for_response,
            timeout_seconds=stay,
            grace_seconds=settings.typing_grace_seconds,
            palette=palette_for(question.theme, self._system),
            options=tuple(question.options or ()),
            allow_multiple=question.allow_multiple,
            secret=question.secret,
            reply_limit=REPLY_LIMIT,
            draft_file=str(folder / f"{token}.json"),
            turn_file=str(settings.turn),
            turn_token=token,
        )

    def _take_turn(self, token: str) -> None:
        """Where nothing can be written, popups of other servers are left alone."""
        try:
            take_turn(self._settings.turn, token)
        except OSError as error:
            logger.warning("the desk's own folder cannot be written: %s", error.strerror)

    async def _appearance_of(self, popup: _Popup) -> PopupEnding | None:
        """None as soon as the window is to be seen."""
        try:
            async with asyncio.timeout(self._settings.show_seconds):
                while (event := await popup.process.event()) is not None:
                    if event.sign is WindowSign.MAPPED:
                        return None
                    if event.sign is WindowSign.FAILED:
                        return event.ending
        except TimeoutError:
            popup.process.kill()
            return PopupEnding(outcome=PopupOutcome.HEADLESS)
        return PopupEnding(outcome=PopupOutcome.REPLACED if popup.replaced else PopupOutcome.CRASHED)

    async def _conversation(
        self, popup: _Popup, sheet: Sheet, question: PopupQuestion, progress: Progress
    ) -> PopupEnding:
        if question.chime_enabled:
            self._chimes.start()
        conversation = await self._record(Who.ASSISTANT, question.message, None)
        if not question.wait_for_response:
            return PopupEnding(outcome=PopupOutcome.DISPLAYED)
        ending = await self._end_of(popup, progress)
        if ending.outcome is PopupOutcome.SUBMITTED:
            if question.chime_enabled:
                self._chimes.end()
            if not question.secret:
                await self._record(Who.PERSON, ending.reply, conversation)
            discard(Path(sheet.draft_file))
        return ending

    async def _end_of(self, popup: _Popup, progress: Progress) -> PopupEnding:
        clock = asyncio.get_running_loop().time
        opened = heard = clock()
        report_at = opened + self._settings.progress_seconds
        while True:
            try:
                async with asyncio.timeout_at(report_at):
                    event = await popup.process.event()
            except TimeoutError:
                report_at += self._settings.progress_seconds
                await progress(clock() - opened)
                if clock() - heard < self._settings.silence_seconds:
                    continue
                popup.process.kill()
                event = None
            if event is None or event.sign is WindowSign.FAILED:
                return PopupEnding(outcome=PopupOutcome.REPLACED if popup.replaced else PopupOutcome.CRASHED)
            heard = clock()
            if event.sign is WindowSign.ENDED and event.ending is not None:
                return event.ending

    async def _record(self, who: Who, text: str, conversation: str | None) -> str | None:
        """A log that cannot be written never costs the person's answer."""
        try:
            return await asyncio.to_thread(self._log.append, who, text, conversation=conversation)
        except OSError as error:
            logger.warning("the conversation log cannot be written: %s", error.strerror)
            return conversation
