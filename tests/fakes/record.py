"""What a face of the sandbox keeps, whichever service it plays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from postroom.sandbox.records import ArrivedFile, SandboxFile

KEPT_FILES: Final = "sandbox_files"


@dataclass(frozen=True, slots=True, kw_only=True)
class FaceButton:
    """One that can be pressed says `data` to the service's client; one that opens a page has a `url`."""

    label: str
    data: str | None = field(default=None, repr=False)
    url: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class FaceMessage:
    """`body` is what the service was handed, whole; `earlier` are the texts before the edits, oldest first."""

    number: int
    place: str
    message_id: str
    text: str = field(repr=False)
    body: Mapping[str, Any] = field(repr=False)
    from_person: bool = False
    author: str = ""
    thread: str | None = None
    earlier: Sequence[str] = ()
    reactions: Sequence[str] = ()
    is_deleted: bool = False
    at_us: int = 0

    @property
    def files(self) -> tuple[SandboxFile, ...]:
        """Kept with what the service was handed, under a name of our own."""
        return tuple(SandboxFile(**one) for one in self.body.get(KEPT_FILES, ()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrote:
    """What a person typed: where, as whom, and which message it answers; `files` can be fetched at this `host`."""

    place: str
    text: str = field(repr=False)
    author: str | None = None
    reply_to: str | None = None
    files: Sequence[ArrivedFile] = ()
    host: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PressedKey:
    message: FaceMessage
    button: FaceButton
    author: str | None = None
