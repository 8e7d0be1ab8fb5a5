"""Starts Claude Code, notices that it deferred a call, waits for the person and resumes it, as often as it takes."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import Final

from postroom.agents.coding.card import JsonObject
from postroom.agents.coding.hook import OpenCards
from postroom.agents.coding.phone import PersonAsker
from postroom.kernel.values.errors import Mistyped
from postroom.settings.connections import NoHousehold

# The command line of `claude -p`: as the person wrote it, with our hook added, for the first start and later ones.

TEXT: Final = "text"
JSON: Final = "json"
STREAM: Final = "stream-json"
_PRINT: Final = ("-p", "--print")
_OURS: Final = ("--session-id", "--resume", "-r", "--continue", "-c", "--fork-session", "--no-session-persistence")


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadlessWords:
    """`prompt` is None when it comes on standard input; `form` is what the person wants printed."""

    program: str
    prompt: str | None
    options: tuple[str, ...]
    form: str
    settings: str

    def first(self, session: str) -> list[str]:
        said = [] if self.prompt is None else [self.prompt]
        return [self.program, "-p", *said, "--session-id", session, *self._options()]

    def later(self, session: str) -> list[str]:
        """Without the prompt: Claude Code goes on with the call that it deferred."""
        return [self.program, "-p", "--resume", session, *self._options()]

    def _options(self) -> list[str]:
        form = STREAM if self.form == STREAM else JSON
        return [*self.options, "--output-format", form, "--settings", self.settings]


def understood(words: Sequence[str], hook: JsonObject) -> HeadlessWords:
    """Raises Mistyped for what could not be resumed later."""
    program, rest = words[0], list(words[1:])
    for word in rest:
        if word.partition("=")[0] in _OURS:
            raise Mistyped(f"Leave out {word}: the session is chosen here, so that it can be resumed.")
    rest, form = _taken(rest, "--output-format")
    rest, settings = _taken(rest, "--settings")
    if (form or TEXT) not in (TEXT, JSON, STREAM):
        raise Mistyped(f"--output-format is text, json or stream-json, not '{form}'.")
    prompt, options = _prompt(rest)
    return HeadlessWords(
        program=program,
        prompt=prompt,
        options=tuple(options),
        form=form or TEXT,
        settings=json.dumps(_hooked(_read(settings), hook)),
    )


def _prompt(words: list[str]) -> tuple[str | None, list[str]]:
    """Directly after -p, where it cannot be mistaken for the value of an option."""
    place = next((place for place, word in enumerate(words) if word in _PRINT), None)
    if place is None:
        raise Mistyped('Start Claude Code without a screen: postroom headless -- claude -p "what to do".')
    after = words[place + 1 : place + 2]
    prompt = after[0] if after and not after[0].startswith("-") else None
    return prompt, words[:place] + words[place + (1 if prompt is None else 2) :]


def _taken(words: list[str], option: str) -> tuple[list[str], str | None]:
    """The words without that option, and its last value."""
    kept, value, rest = list[str](), None, list(words)
    while rest:
        word = rest.pop(0)
        name, is_joined, joined = word.partition("=")
        if name != option:
            kept.append(word)
        elif is_joined or rest:
            value = joined if is_joined else rest.pop(0)
        else:
            raise Mistyped(f"{option} needs a value.")
    return kept, value


def _read(settings: str | None) -> JsonObject:
    """As Claude Code takes them: JSON, or a file of it."""
    if settings is None:
        return {}
    try:
        text = settings if settings.lstrip().startswith("{") else Path(settings).read_text(encoding="utf-8")
        found = json.loads(text)
    except (OSError, ValueError):
        raise Mistyped(f"--settings is neither JSON nor a file of it, so give one of these: {settings[:200]}") from None
    if not isinstance(found, dict):
        raise Mistyped("--settings is no JSON object: write one.")
    return found


def _hooked(settings: JsonObject, hook: JsonObject) -> JsonObject:
    hooks = settings.get("hooks") or {}
    if not isinstance(hooks, dict) or not isinstance(hooks.get("PreToolUse", []), list):
        raise Mistyped("--settings: hooks is not what Claude Code takes; correct it there.")
    return {**settings, "hooks": {**hooks, "PreToolUse": [*hooks.get("PreToolUse", []), hook]}}


# What is known of a run, in files: a runner that was killed is started again and goes on where it was.

_SESSION = "session"


class RunRecord:
    """
    `<home>/headless/<which run>`: the session, and what Claude Code printed, one file for each start.

    It prints into the file and not to us, so it does not notice when we die; and it holds our lock while it lives, so
    that the next runner waits for it.
    """

    def __init__(self, home: Path, folder: Path, words: Sequence[str], prompt: str) -> None:
        which = json.dumps([str(folder), list(words), prompt])
        digest = hashlib.sha256(which.encode("utf-8", "surrogatepass")).hexdigest()[:24]
        self._folder = home / "headless" / digest
        self._lock = home / "headless" / f"{digest}.lock"

    @contextmanager
    def alone(self, say: Callable[[str], None]) -> Iterator[int]:
        """The open file that holds the lock, for Claude Code to inherit."""
        self._lock.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(self._lock, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _lock(descriptor, say)
            yield descriptor
        finally:
            os.close(descriptor)

    @property
    def session(self) -> str:
        """Chosen once; Claude Code wants a UUID."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = self._folder / _SESSION
        if not file.exists():
            beside = file.with_suffix(".new")
            beside.write_text(str(uuid.uuid4()), encoding="utf-8")
            beside.replace(file)
        return file.read_text(encoding="utf-8")

    @property
    def starts(self) -> int:
        """How often Claude Code was started."""
        return len(list(self._folder.glob("*.out")))

    def output(self, start: int) -> Path:
        return self._folder / f"{start:04d}.out"

    def result(self, start: int) -> JsonObject | None:
        """The last line that Claude Code printed when it ended of itself."""
        for line in reversed(self.output(start).read_text(encoding="utf-8", errors="replace").splitlines()):
            try:
                said = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(said, dict) and said.get("type") == "result":
                return said
        return None

    def forget(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


def _lock(descriptor: int, say: Callable[[str], None]) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        say("The same is under way already; waiting for its end.")
        fcntl.flock(descriptor, fcntl.LOCK_EX)


# The runner.

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

    def _deferred(self) -> JsonObject | None:
        """The call at which Claude Code ended."""
        result = self.record.result(self.record.starts)
        if result is None or result.get("stop_reason") != _DEFERRED:
            return None
        call = result.get("deferred_tool_use")
        return call if isinstance(call, dict) else None

    def _wait(self, call: JsonObject) -> None:
        session = self.record.session
        ask_ids = OpenCards.deferred(self.home, _CLIENT, session, str(call.get("id"))).noted()
        self.say(f"Claude Code waits for an answer to {call.get('name')} ({', '.join(ask_ids) or 'asked again'}).")
        if not ask_ids:
            self.pause(_AGAIN_SECONDS)  # the hook asks again, under the same key
        for ask_id in ask_ids:
            with suppress(NoHousehold):  # it does not know the question any more, so the hook will say nothing
                if self.phone.until_over(ask_id) is None:
                    self.phone.cancel(ask_id, _IN_VAIN)

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
