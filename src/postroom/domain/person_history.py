"""Everything said with one person, both ways: what they wrote, what was sent to them, what they were asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from postroom.domain.kept_message import KeptMessage
from postroom.domain.question import Question


class LineKind(StrEnum):
    MESSAGE = "message"  # the person wrote it
    DELIVERY = "delivery"  # it was sent to the person
    QUESTION = "question"  # the person was asked


class WordsKept(StrEnum):
    KEPT = "kept"
    ERASED = "erased"
    NOT_KEPT = "not_kept"  # no butler was given them


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryQuery:
    """Newest first, below the id `before`."""

    limit: int = 50
    before: str | None = None
    butler: str | None = None
    channel: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SentToPerson:
    id: str
    channel: str
    address: str
    status: str
    origin_butler: str
    subject: str | None
    text: str = field(repr=False)
    created_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """`replies` are the deliveries that answered a message where it was written."""

    id: str
    what: KeptMessage | SentToPerson | Question
    replies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryPart:
    """From one source, everything down to the id `floor`; None when there is nothing below."""

    entries: Sequence[HistoryEntry]
    floor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryLine:
    """One thing that was said, as people are shown it; `butler` said it, asked it or was given it."""

    kind: LineKind
    id: str
    at_us: int
    channel: str | None
    address: str | None
    status: str
    butler: str | None
    subject: str | None = None
    words: str = field(default="", repr=False)
    words_kept: WordsKept = WordsKept.KEPT
    reason: str = ""
    answer: str = field(default="", repr=False)
    answered_by: str = ""
    session_id: str | None = None
    replies: tuple[str, ...] = ()

    @property
    def is_from_person(self) -> bool:
        return self.kind is LineKind.MESSAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonHistory:
    """Newest first; `before` begins the next look, also below rows that were read and were for other people."""

    lines: Sequence[HistoryLine]
    before: str | None


def merged(parts: Iterable[HistoryPart], limit: int) -> tuple[Sequence[HistoryEntry], str | None]:
    """All sources in one order; below the highest floor a source may have more, so the page ends there."""
    known = list(parts)
    floor = max((one.floor for one in known if one.floor is not None), default=None)
    found = [one for part in known for one in part.entries if floor is None or one.id >= floor]
    found.sort(key=lambda one: one.id, reverse=True)
    return (found[:limit], found[limit - 1].id) if len(found) > limit else (found, floor)
