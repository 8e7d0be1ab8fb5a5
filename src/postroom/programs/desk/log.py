"""The conversation log on disk, shared with VoiceMode and with other desks."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

from postroom.programs.desk.conversation import Line, conversation_id, history
from postroom.programs.desk.records import NEWEST_VERSION, OLDEST_VERSION, ConversationRecord, decode, encode, split
from postroom.programs.desk.who import Who

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
    newest = records[-1].version if records else OLDEST_VERSION
    return min(max(newest, OLDEST_VERSION), NEWEST_VERSION)


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
