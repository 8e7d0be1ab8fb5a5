"""The conversation log shared with VoiceMode and other desks: its lines, its files, and how they are shown."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from random import Random
from string import Template
from typing import Any, Final


class Who(StrEnum):
    PERSON = "stt"
    ASSISTANT = "tts"


# One line: how it is written and what it must not be.

_NEWEST_VERSION = 4
_OLDEST_VERSION = 3
LINE_BYTES = 980
"""The longest last line that VoiceMode still finds: it looks for it in the last 1,024 bytes of the file."""

_PERSON_TYPES = frozenset({"stt", "notify_in"})
_SILENCE = frozenset({"", "[no speech detected]", "[empty]"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationRecord:
    version: int
    timestamp: datetime
    conversation_id: str
    who: Who
    text: str = field(repr=False)
    project_path: str
    part: int = 1
    parts: int = 1

    @property
    def silent(self) -> bool:
        return self.text.strip() in _SILENCE


def encode(record: ConversationRecord) -> bytes:
    """ASCII only: a reader that cuts the file at a byte must never meet half a character."""
    metadata: dict[str, Any] = {
        "voice_mode_version": "postroom",
        "provider": "popup",
        "transport": "notify",
        "mode": "notify",
    }
    if record.parts > 1:
        metadata |= {"part": record.part, "parts": record.parts}
    line = {
        "version": record.version,
        "timestamp": record.timestamp.isoformat(timespec="microseconds"),
        "conversation_id": record.conversation_id,
        "type": record.who.value,
        "text": record.text,
        "project_path": record.project_path,
        "metadata": metadata,
    }
    return json.dumps(line, ensure_ascii=True).encode("ascii") + b"\n"


def decode(line: bytes) -> ConversationRecord | None:
    """None for a line that is not a complete record."""
    try:
        raw = json.loads(line)
        timestamp = datetime.fromisoformat(raw["timestamp"])
        metadata = raw.get("metadata") or {}
        return ConversationRecord(
            version=int(raw.get("version", _OLDEST_VERSION)),
            timestamp=timestamp if timestamp.tzinfo else timestamp.astimezone(),
            conversation_id=str(raw["conversation_id"]),
            who=Who.PERSON if raw["type"] in _PERSON_TYPES else Who.ASSISTANT,
            text=str(raw["text"]),
            project_path=str(raw.get("project_path", "")),
            part=_count(metadata, "part"),
            parts=_count(metadata, "parts"),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _count(metadata: Mapping[str, Any], name: str) -> int:
    value = metadata.get(name)
    return value if isinstance(value, int) and value > 0 else 1


def split(record: ConversationRecord) -> tuple[ConversationRecord, ...]:
    """As one line when it is short enough to end the file with, otherwise as a head and a short tail."""
    if len(encode(record)) <= LINE_BYTES:
        return (record,)
    cut = _tail_start(record)
    return (
        replace(record, text=record.text[:cut], part=1, parts=2),
        replace(record, text=record.text[cut:], part=2, parts=2),
    )


def _tail_start(record: ConversationRecord) -> int:
    """As far to the left as the tail's line allows; everything else goes into the head."""
    frame = len(encode(replace(record, text="", part=2, parts=2)))
    room, start = LINE_BYTES - frame, len(record.text)
    while start > 0:
        room -= len(json.dumps(record.text[start - 1])) - 2
        if room < 0:
            break
        start -= 1
    return start


# The log on disk.

try:
    import fcntl
except ImportError:  # Windows has no such lock; one append there is one write as well
    fcntl = None  # type: ignore[assignment]

_BINARY = getattr(os, "O_BINARY", 0)


class ConversationLog:
    """Local dates name the files, because VoiceMode's do."""

    def __init__(self, base: Path, project_path: str, *, now: Callable[[], datetime], dice: Random) -> None:
        self._folder = base / "logs" / "conversations"
        self._project_path = project_path
        self._now = now
        self._dice = dice

    def history(self, limit: int) -> tuple[Line, ...]:
        return history(self._recent(self._now()), project_path=self._project_path, limit=limit)

    def append(self, who: Who, text: str, *, conversation: str | None = None) -> str:
        """The conversation the line went into. A reply names its question's, however late it comes."""
        now = self._now()
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _locked(self._file(now)) as descriptor:
            recent = self._recent(now)
            record = ConversationRecord(
                version=_version(recent),
                timestamp=now,
                conversation_id=conversation
                or conversation_id(recent, project_path=self._project_path, now=now, dice=self._dice),
                who=who,
                text=text,
                project_path=self._project_path,
            )
            os.write(descriptor, _line_break(self._file(now)) + b"".join(map(encode, split(record))))
        return record.conversation_id

    def _recent(self, now: datetime) -> list[ConversationRecord]:
        """Yesterday's and today's records: a conversation may run past midnight."""
        return [record for day in (now - timedelta(days=1), now) for record in _records(self._file(day))]

    def _file(self, day: datetime) -> Path:
        return self._folder / f"exchanges_{day:%Y-%m-%d}.jsonl"


def _records(file: Path) -> Iterator[ConversationRecord]:
    try:
        lines = file.read_bytes().split(b"\n")
    except OSError:
        return
    for line in lines:
        record = decode(line) if line else None
        if record is not None:
            yield record


def _version(records: list[ConversationRecord]) -> int:
    """What VoiceMode writes here now, as far as we know that version."""
    newest = records[-1].version if records else _OLDEST_VERSION
    return min(max(newest, _OLDEST_VERSION), _NEWEST_VERSION)


def _line_break(file: Path) -> bytes:
    """A writer that died in the middle of a line must not take our line with it."""
    with file.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - 1))
        return b"" if stream.read() in (b"", b"\n") else b"\n"


@contextlib.contextmanager
def _locked(file: Path) -> Iterator[int]:
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | _BINARY, 0o600)
    try:
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


# Which lines belong to the conversation that is going on, and how they are shown.

GAP = timedelta(minutes=5)
_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    who: Who
    text: str = field(repr=False)


def conversation_id(records: Sequence[ConversationRecord], *, project_path: str, now: datetime, dice: Random) -> str:
    """The id of the newest record of this project if it is fresh enough, otherwise a new one."""
    for record in reversed(records):
        if record.project_path == project_path:
            if now - record.timestamp < GAP:
                return record.conversation_id
            break
    return f"conv_{now:%Y%m%d_%H%M%S}_" + "".join(dice.choices(_ALPHABET, k=6))


def joined(records: Sequence[ConversationRecord]) -> list[ConversationRecord]:
    """A long text that was logged in two parts, as one again."""
    whole: list[ConversationRecord] = []
    for record in records:
        last = whole[-1] if whole else None
        if record.part > 1 and last is not None and last.who == record.who and last.part == record.part - 1:
            whole[-1] = replace(last, text=last.text + record.text, part=record.part)
        else:
            whole.append(record)
    return whole


def history(records: Sequence[ConversationRecord], *, project_path: str, limit: int) -> tuple[Line, ...]:
    """
    The last exchanges of this project, spoken or typed.

    Chosen by project rather than by id: an assistant may work for longer than
    a conversation lasts, and a VoiceMode that has been running for long keeps
    its own id next to ours.
    """
    mine = [record for record in joined(records) if record.project_path == project_path and not record.silent]
    mine.sort(key=lambda record: record.timestamp)
    lines = [Line(who=record.who, text=record.text) for record in mine]
    return tuple(lines[_start_of_last(lines, limit) :])


def _start_of_last(lines: Sequence[Line], limit: int) -> int:
    """Each message of the assistant begins an exchange, whether or not it was answered."""
    if limit == 0:
        return len(lines)
    starts = [index for index, line in enumerate(lines) if index == 0 or line.who is Who.ASSISTANT]
    return starts[-limit] if len(starts) > limit else 0


# Where VoiceMode keeps its files, found by VoiceMode's own rules.

_VARIABLE = "VOICEMODE_BASE_DIR"


def voicemode_directory(environ: Mapping[str, str], *, working_directory: Path, user_home: Path) -> Path:
    """The environment wins, then the project's file, then the person's, then `~/.voicemode`."""
    value = environ.get(_VARIABLE)
    for file in _files(working_directory, user_home):
        value = value or _value_in(file)
    if not value:
        return user_home / ".voicemode"
    expanded = Template(value).safe_substitute(environ)
    return Path(expanded.replace("~", str(user_home), 1) if expanded.startswith("~") else expanded)


def _files(working_directory: Path, user_home: Path) -> Iterator[Path]:
    for folder in (working_directory, *working_directory.parents):
        yield folder / ".voicemode.env"
        yield folder / ".voicemode" / "voicemode.env"
    yield user_home / ".voicemode" / "voicemode.env"
    yield user_home / ".voicemode" / ".voicemode.env"


def _value_in(file: Path) -> str | None:
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    for line in lines:
        name, _, value = line.strip().removeprefix("export ").partition("=")
        if name.strip() == _VARIABLE and value.strip():
            return value.strip().strip("\"'")
    return None


# Files that a desk and its windows share: what was typed and not yet submitted, and whose turn the screen is.


KEPT = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyDraft:
    file: Path
    text: str = field(repr=False)


def folder_for(drafts: Path, project_path: str, project: str) -> Path:
    """Each project has its own drafts; nothing typed for one is offered in another."""
    import hashlib  # the window's process never needs it and should start fast

    return drafts / hashlib.sha256(f"{project_path}\0{project}".encode()).hexdigest()[:16]


def save(file: Path, text: str) -> None:
    """Whole or not at all, for the owner's eyes only; an empty text leaves no file."""
    if not text.strip():
        discard(file)
        return
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = file.with_suffix(".new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        json.dump({"text": text}, stream)
    fresh.replace(file)


def discard(file: Path) -> None:
    with contextlib.suppress(OSError):
        file.unlink()


def waiting(folder: Path) -> list[ReplyDraft]:
    """Newest first; names are time-ordered. A file that cannot be read is left alone."""
    found = []
    for file in sorted(folder.glob("*.json"), reverse=True):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            found.append(ReplyDraft(file=file, text=str(json.loads(file.read_text(encoding="utf-8"))["text"])))
    return found


def prune(folder: Path) -> None:
    for file in sorted(folder.glob("*.json"), reverse=True)[KEPT:]:
        discard(file)


# Whose turn it is on this screen: the newest popup's, whichever server opened it.

_SILENT_SECONDS: Final = 5.0  # a window keeps its turn alive every second


def take_turn(file: Path, token: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = file.with_name(f"{file.name}.{token}")
    fresh.write_text(token, encoding="ascii")
    fresh.replace(file)


def turn_is_over(file: Path, token: str) -> bool:
    """A turn ends only when someone else has taken it; a missing file means nobody has."""
    try:
        return file.read_text(encoding="ascii") != token
    except OSError:
        return False


def keep_turn(file: Path, token: str) -> None:
    """Says that the window is still there."""
    if not turn_is_over(file, token):
        with contextlib.suppress(OSError):
            os.utime(file)


def give_turn_back(file: Path, token: str) -> None:
    if not turn_is_over(file, token):
        with contextlib.suppress(OSError):
            os.utime(file, (0, 0))


def screen_is_free(file: Path) -> bool:
    """No window is there, or the last one has not been heard of for a while."""
    try:
        return time.time() - file.stat().st_mtime > _SILENT_SECONDS
    except OSError:
        return True
