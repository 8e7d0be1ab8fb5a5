"""Everything said with a person, in one order and in words that people are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, assert_never

from postroom.domain.kept_message import KeptMessage, RouteKind
from postroom.domain.person import Person
from postroom.domain.person_history import (
    HistoryEntry,
    HistoryLine,
    HistoryPart,
    HistoryQuery,
    LineKind,
    PersonHistory,
    SentToPerson,
    WordsKept,
    merged,
)
from postroom.domain.question import Question
from postroom.work.questions.answer_words import answer_words
from postroom.work.questions.card_words import asked_line, asker_name, one_line

_MOST_WORDS: Final = 2_000
_MOST_LINE: Final = 300


class HistoryStore(Protocol):
    async def parts(self, person: Person, wanted: HistoryQuery) -> Sequence[HistoryPart]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Histories:
    store: HistoryStore

    async def of(self, person: Person, wanted: HistoryQuery) -> PersonHistory:
        found, before = merged(await self.store.parts(person, wanted), wanted.limit)
        return PersonHistory(lines=[line_of(one) for one in found], before=before)


class LatelyStore(Protocol):
    async def last(self, limit: int) -> Mapping[str, HistoryEntry]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Lately:
    store: LatelyStore

    async def last(self, limit: int) -> Mapping[str, HistoryLine]:
        """The last that was said with each person, the newest first."""
        return {person: line_of(entry) for person, entry in (await self.store.last(limit)).items()}


def line_of(entry: HistoryEntry) -> HistoryLine:
    match entry.what:
        case KeptMessage() as kept:
            return _written(kept, entry.replies)
        case SentToPerson() as sent:
            return _sent(sent)
        case Question() as question:
            return _asked(question)
        case other:
            assert_never(other)


def _written(kept: KeptMessage, replies: tuple[str, ...]) -> HistoryLine:
    message = kept.message
    gone = WordsKept.ERASED if kept.kind is RouteKind.BUTLER else WordsKept.NOT_KEPT
    return HistoryLine(
        kind=LineKind.MESSAGE,
        id=kept.id,
        at_us=kept.received_us,
        channel=message.channel,
        address=message.places[0],
        status=str(kept.status),
        butler=kept.target,
        words=(message.text or "")[:_MOST_WORDS],
        words_kept=gone if message.text is None else WordsKept.KEPT,
        reason=kept.reason,
        session_id=kept.session_id,
        replies=replies,
    )


def _sent(sent: SentToPerson) -> HistoryLine:
    return HistoryLine(
        kind=LineKind.DELIVERY,
        id=sent.id,
        at_us=sent.created_us,
        channel=sent.channel,
        address=sent.address,
        status=sent.status,
        butler=sent.origin_butler,
        subject=sent.subject,
        words=sent.text,
    )


def _asked(question: Question) -> HistoryLine:
    """In one line; the page of the question has the rest. A secret answer is in none."""
    by, answer = question.answered_by, question.answer
    is_shown = answer is not None and not question.wording.secret
    return HistoryLine(
        kind=LineKind.QUESTION,
        id=question.id,
        at_us=question.created_at_us,
        channel=by.channel if by else None,
        address=None,
        status=str(question.status),
        butler=asker_name(question),
        words=asked_line(question, _MOST_LINE),
        words_kept=WordsKept.KEPT if question.wording.question else WordsKept.ERASED,
        reason=question.reason or "",
        answer=one_line(answer_words(question.wording, answer), _MOST_LINE) if answer and is_shown else "",
        answered_by=one_line(by.name, _MOST_LINE) if by else "",
    )
