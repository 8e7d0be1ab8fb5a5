"""What a person wrote to us, the one table of its moves, and everything said with one person."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from postroom.message.delivery import Format
from postroom.message.inbound import Flag, InboundMessage
from postroom.people.model import Person
from postroom.questions.model import Question


class InboundStatus(StrEnum):
    RECEIVED = "received"
    ROUTED = "routed"
    WAITING = "waiting"
    RUNNING = "running"
    ANSWERED = "answered"
    FAILED = "failed"
    STOPPED = "stopped"
    HANDLED = "handled"
    REFUSED = "refused"


class InboundMove(StrEnum):
    ROUTE = "route"  # a butler is to answer it
    HANDLE = "handle"  # a command, a code, an answer to a question: no butler is needed
    REFUSE = "refuse"  # nothing is done for it
    HAND_OVER = "hand_over"  # the butler has stored a session for it
    BEGIN = "begin"
    RETURN = "return"  # the household went down meanwhile; the session is begun again
    ANSWER = "answer"
    FAIL = "fail"  # and that was said
    STOP = "stop"  # the person did not want it any more


INBOUND_MOVES: Final[dict[tuple[InboundStatus, InboundMove], InboundStatus]] = {
    (InboundStatus.RECEIVED, InboundMove.ROUTE): InboundStatus.ROUTED,
    (InboundStatus.RECEIVED, InboundMove.HANDLE): InboundStatus.HANDLED,
    (InboundStatus.RECEIVED, InboundMove.REFUSE): InboundStatus.REFUSED,
    (InboundStatus.ROUTED, InboundMove.HAND_OVER): InboundStatus.WAITING,
    (InboundStatus.ROUTED, InboundMove.FAIL): InboundStatus.FAILED,
    (InboundStatus.ROUTED, InboundMove.STOP): InboundStatus.STOPPED,
    (InboundStatus.WAITING, InboundMove.BEGIN): InboundStatus.RUNNING,
    (InboundStatus.WAITING, InboundMove.ANSWER): InboundStatus.ANSWERED,
    (InboundStatus.WAITING, InboundMove.FAIL): InboundStatus.FAILED,
    (InboundStatus.WAITING, InboundMove.STOP): InboundStatus.STOPPED,
    (InboundStatus.RUNNING, InboundMove.RETURN): InboundStatus.WAITING,
    (InboundStatus.RUNNING, InboundMove.ANSWER): InboundStatus.ANSWERED,
    (InboundStatus.RUNNING, InboundMove.FAIL): InboundStatus.FAILED,
    (InboundStatus.RUNNING, InboundMove.STOP): InboundStatus.STOPPED,
}
SETTLED: Final = frozenset(InboundStatus) - {before for before, _ in INBOUND_MOVES}
WITH_BUTLER: Final = frozenset({InboundStatus.ROUTED, InboundStatus.WAITING, InboundStatus.RUNNING})


def moved(status: InboundStatus, move: InboundMove) -> InboundStatus:
    """Raises KeyError on a move that is not in the table: that is a bug, not an outcome."""
    return INBOUND_MOVES[status, move]


# As it is kept, with what was decided about it.


class RouteKind(StrEnum):
    ANSWER = "answer"  # it answers what was asked
    BUTLER = "butler"
    CHOICE = "choice"  # the person is to say which butler is meant
    NO_MODEL = "no_model"  # no butler can answer
    COMMAND = "command"  # answered without a model
    UNKNOWN = "unknown"  # begins like a command or a butler's name, and there is none
    IGNORED = "ignored"  # not meant for us, or not a person's own words
    STRANGER = "stranger"
    LIMIT = "limit"  # too many sessions for one day


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutedMessage:
    """Where a message goes, and why; `target` is a butler, `words` what it is given."""

    kind: RouteKind
    target: str | None = None
    reason: str
    words: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptMessage:
    """`id` is the request under which everything done for it is found."""

    id: str
    message: InboundMessage
    received_us: int
    status: InboundStatus = InboundStatus.RECEIVED
    person: str | None = None
    kind: RouteKind | None = None
    target: str | None = None
    reason: str = ""
    session_id: str | None = None
    changed_us: int = 0

    @property
    def conversation(self) -> tuple[str | None, str, str]:
        """Within it one message is answered after the other."""
        return self.person, self.message.channel, self.message.places[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class SentBefore:
    """A message of ours; `by` is the butler for whom it was sent, else who sent it: a program, the household itself."""

    id: str
    by: str
    address: str
    text: str = field(repr=False)
    format: Format
    subject: str | None = field(default=None, repr=False)
    at_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SpokenTurn:
    """One thing that was said in a conversation."""

    by: str
    text: str = field(repr=False)
    at_us: int


# Everything said with one person, both ways: what they wrote, what was sent to them, what they were asked.


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


# Where a message goes that a person wrote to us: one pure decision, with its reason.


_NAMED: Final = re.compile(r"\s*[/@]([A-Za-z][\w-]{0,63})(?:@\w{1,64})?(?:[\s,:]+(.*))?", re.ASCII | re.DOTALL)
_WORD: Final = re.compile(r"/([A-Za-z][\w-]{0,63})(?:@\w{1,64})?(?:\s.*)?", re.ASCII | re.DOTALL)
COMMANDS: Final = ("help", "status", "inbox", "asks", "stop", "why", "mute", "snooze", "pair")
FILES_ALONE: Final = "(files, without words)"
_FLAG_WORDS: Final = {
    Flag.FORWARDED: "forwarded words start nothing",
    Flag.BOT: "what a bot writes starts nothing",
    Flag.ANONYMOUS: "who writes in the name of a chat starts nothing",
    Flag.AUTOMATIC: "what was sent by a machine starts nothing",
    Flag.UNVERIFIED: "it is not proved who wrote it",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class InboundFacts:
    """
    What the decision rests on.

    `person` has proved the address that wrote; `open_questions` are those the message answers, `thread` is whose
    message of ours it replies to; `butlers` can be written to, each with whether it has a model.
    """

    message: InboundMessage
    person: Person | None = None
    open_questions: tuple[str, ...] = ()
    thread: str | None = None
    butlers: Mapping[str, bool] = field(default_factory=dict)
    sessions_today: int = 0
    sessions_per_day: int = 1
    tokens_today: int = 0
    tokens_per_day: int = 1


def route(facts: InboundFacts) -> RoutedMessage:
    """Answers first, then threads, names, the person's own butler, the only one, a choice."""
    if facts.open_questions:
        return RoutedMessage(kind=RouteKind.ANSWER, reason=f"it answers {facts.open_questions[0]}")
    if (refused := _refused(facts)) is not None:
        return refused
    chosen = _chosen(facts)
    if chosen.kind is RouteKind.BUTLER and not facts.butlers[chosen.target or ""]:
        return RoutedMessage(kind=RouteKind.NO_MODEL, target=chosen.target, reason=f"{chosen.target} has no model")
    if chosen.kind is RouteKind.BUTLER and (spent := _spent(facts)):
        return RoutedMessage(kind=RouteKind.LIMIT, target=chosen.target, reason=spent)
    return chosen


def _spent(facts: InboundFacts) -> str:
    if facts.sessions_today >= facts.sessions_per_day:
        return f"{facts.sessions_per_day} sessions within a day are the most for one person"
    if facts.tokens_today >= facts.tokens_per_day:
        return f"{facts.tokens_per_day} tokens within a day are the most for one person"
    return ""


def _refused(facts: InboundFacts) -> RoutedMessage | None:
    message = facts.message
    if machine := message.flags & {Flag.BOT, Flag.AUTOMATIC}:
        return RoutedMessage(kind=RouteKind.IGNORED, reason=_FLAG_WORDS[min(machine)])
    if not message.alone and not message.addressed and facts.thread is None:
        return RoutedMessage(kind=RouteKind.IGNORED, reason="it was not written to us")
    if facts.person is None:
        return RoutedMessage(kind=RouteKind.STRANGER, reason="the sender has not proved who they are")
    if message.flags:
        return RoutedMessage(kind=RouteKind.IGNORED, reason=_FLAG_WORDS[min(message.flags)])
    if not (message.text or "").strip() and not message.files:
        return RoutedMessage(kind=RouteKind.IGNORED, reason="there are no words in it")
    return None


def _chosen(facts: InboundFacts) -> RoutedMessage:
    text, butlers = (facts.message.text or "").strip() or FILES_ALONE, facts.butlers
    name, words = named(text, butlers)
    if name is None and (word := _WORD.fullmatch(text)):
        return RoutedMessage(kind=RouteKind.UNKNOWN, reason="there is no such command", words=word[1].lower())
    if facts.thread in butlers:
        return _to(facts.thread, f"a reply to a message of {facts.thread}", text)
    if name is not None and (words or facts.message.files):
        return _to(name, f"{name} is named in it", words or FILES_ALONE)
    if name is not None:
        return RoutedMessage(kind=RouteKind.CHOICE, target=name, reason=f"{name} is named, and nothing is asked")
    own = facts.person.default_butler if facts.person else None
    if own in butlers:
        return _to(own, f"{own} is the person's default butler", text)
    return _of_all([one for one, has_model in butlers.items() if has_model], text)


def _of_all(able: list[str], text: str) -> RoutedMessage:
    if not able:
        return RoutedMessage(kind=RouteKind.NO_MODEL, reason="no butler has a model")
    if len(able) == 1:
        return _to(able[0], f"{able[0]} is the only butler with a model", text)
    return RoutedMessage(kind=RouteKind.CHOICE, reason="no butler is named, and the person has no default butler")


def named(text: str, butlers: Mapping[str, bool]) -> tuple[str | None, str]:
    """The butler whose name stands first, as `/name` or `@name`, and the words after it."""
    found = _NAMED.fullmatch(text)
    name = next((one for one in butlers if found and one.casefold() == found[1].casefold()), None)
    return name, ((found[2] or "").strip() if found and name else text)


def is_for_named(message: InboundMessage, butlers: Mapping[str, bool]) -> bool:
    """Words to a butler by its name, in reply to nothing: they answer no question, whichever are open."""
    return message.replies_to is None and named((message.text or "").strip(), butlers)[0] is not None


def _to(butler: str | None, reason: str, words: str) -> RoutedMessage:
    return RoutedMessage(kind=RouteKind.BUTLER, target=butler, reason=reason, words=words)
