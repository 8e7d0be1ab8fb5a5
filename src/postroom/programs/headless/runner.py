"""Start Claude Code, notice that it deferred a call, wait for the person, resume it; as often as it takes."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Final

from postroom.programs.headless.record import RunRecord
from postroom.programs.headless.words import STREAM, TEXT, HeadlessWords
from postroom.programs.hook.open_cards import OpenCards
from postroom.programs.hook.phone import PersonAsker
from postroom.programs.small_http import NoHousehold

_CLIENT: Final = "claude"
_DEFERRED: Final = "tool_deferred"
_IN_VAIN: Final = "not answered in time"
_ENDED: Final = "the program that asked has ended"
_LOOK_SECONDS: Final = 0.1
_AGAIN_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadlessRunner:
    """`typed` is what came on standard input; `say` speaks to the person, beside the output."""

    home: Path
    words: HeadlessWords
    record: RunRecord
    phone: PersonAsker
    say: Callable[[str], None]
    typed: str = ""
    pause: Callable[[float], None] = field(default=time.sleep)

    def run(self, *, anew: bool = False) -> int:
        """What Claude Code ended with at last."""
        with self.record.alone(self.say) as lock:
            if anew:
                self._forget()
            code = self._gone_on() if self._has_result() else self._started(lock)
            while deferred := self._deferred():
                self._wait(deferred)
                code = self._started(lock)
            self._finish()
            return code

    def _started(self, lock: int) -> int:
        session, start = self.record.session, self.record.starts + 1
        words = self.words.first(session) if start == 1 else self.words.later(session)
        with TemporaryFile() as typed, self.record.output(start).open("wb") as out:
            typed.write(self.typed.encode() if start == 1 else b"")
            typed.seek(0)
            process = subprocess.Popen(words, stdin=typed, stdout=out, pass_fds=[lock])  # noqa: S603  # the person's own words
        self._shown(process, start)
        return process.wait()

    def _has_result(self) -> bool:
        """Not so for one that was killed together with us; it may have deferred a call, and is resumed."""
        return self.record.starts > 0 and self.record.result(self.record.starts) is not None

    def _gone_on(self) -> int:
        """A run that another runner began: what Claude Code printed meanwhile is there."""
        if self.words.form == STREAM:
            sys.stdout.write(self._text(self.record.starts))
        result = self.record.result(self.record.starts) or {}
        return 1 if result.get("is_error") else 0

    def _shown(self, process: subprocess.Popen[bytes], start: int) -> None:
        """Events are passed on as they come; everything else when it is complete."""
        if self.words.form != STREAM:
            return
        with self.record.output(start).open(encoding="utf-8", errors="replace") as printed:
            has_ended = False
            while not has_ended:
                has_ended = process.poll() is not None
                sys.stdout.write(printed.read())
                sys.stdout.flush()
                self.pause(0 if has_ended else _LOOK_SECONDS)

    def _deferred(self) -> dict[str, Any] | None:
        """The call at which Claude Code ended."""
        result = self.record.result(self.record.starts)
        if result is None or result.get("stop_reason") != _DEFERRED:
            return None
        call = result.get("deferred_tool_use")
        return call if isinstance(call, dict) else None

    def _wait(self, call: dict[str, Any]) -> None:
        session = self.record.session
        ask_ids = OpenCards.deferred(self.home, _CLIENT, session, str(call.get("id"))).noted()
        self.say(f"Claude Code waits for an answer to {call.get('name')} ({', '.join(ask_ids) or 'asked again'}).")
        if not ask_ids:
            self.pause(_AGAIN_SECONDS)  # the hook asks again, under the same key
        for ask_id in ask_ids:
            if self._until_over(ask_id) is None:
                self.phone.cancel(ask_id, _IN_VAIN)

    def _until_over(self, ask_id: str) -> dict[str, Any] | None:
        try:
            return self.phone.until_over(ask_id)
        except NoHousehold:
            return {}  # the household does not know the question any more, so the hook will say nothing

    def _finish(self) -> None:
        """What Claude Code says at last."""
        if self.words.form != STREAM:
            sys.stdout.write(self._said())
        sys.stdout.flush()
        self._forget()

    def _forget(self) -> None:
        """Also the cards that no call waits for any more."""
        for ask_id in OpenCards.deferred(self.home, _CLIENT, self.record.session, "").all_taken():
            self.phone.cancel(ask_id, _ENDED)
        self.record.forget()

    def _said(self) -> str:
        result = self.record.result(self.record.starts)
        if self.words.form == TEXT and result is not None:
            return f"{result.get('result', '')}\n"
        return self._text(self.record.starts)

    def _text(self, start: int) -> str:
        return self.record.output(start).read_text(encoding="utf-8", errors="replace")
