"""All that is known about one person's notices: facts, the state they fold to, and both as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, field, fields, is_dataclass
from datetime import datetime, time
from enum import StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, TypeVar, Union, get_args, get_origin, get_type_hints

from postroom.attention.model import OPEN, Decision, NoticeState, Policy
from postroom.attention.rules.digest import Digest
from postroom.attention.rules.policy import Absence
from postroom.kernel.values.ids import record
from postroom.message.wishes import AcceptedNotice, HoldReason, Urgency, rank

# -- Facts: everything from outside that the engine knows, each with the moment it happened --


class SendOutcome(StrEnum):
    OK = "ok"
    FAILED = "failed"  # finally
    UNCERTAIN = "uncertain"  # it may have arrived; counted as sent, and marked
    WITHDRAWN = "withdrawn"  # taken back before it was sent, because another way was chosen


@record
class NoticeAccepted:
    at_us: int
    notice: AcceptedNotice


@record
class PolicyChanged:
    """The person's own policy is another from now on; None when there is none any more."""

    at_us: int
    policy: Policy | None


@record
class Acked:
    at_us: int
    notice: str
    by: str = ""


@record
class Snoozed:
    """`until_us` None: until it is snoozed again, to a moment."""

    at_us: int
    notice: str
    until_us: int | None


@record
class Withdrawn:
    """By the agent that wrote it: one notice by its id, or all of a key, also when they have not come yet."""

    at_us: int
    agent: str
    notice: str | None = None
    key: str | None = None
    expires_us: int | None = None


@record
class Muted:
    """What is None is not asked about; at least one is set. `until_us` None: until it is unmuted."""

    at_us: int
    agent: str | None = None
    thread: str | None = None
    category: str | None = None
    until_us: int | None = None


@record
class Unmuted:
    at_us: int
    agent: str | None = None
    thread: str | None = None
    category: str | None = None


@record
class AwaySet:
    """Takes the place of every absence that is not over; None ends them."""

    at_us: int
    absence: Absence | None


@record
class ReceiptIn:
    """`send` is the key a decision gave."""

    at_us: int
    send: str
    outcome: SendOutcome


@record
class Returned:
    """It was never handed over (refused at the door, or found unsent after a crash), and may be tried at `until_us`."""

    at_us: int
    send: str
    until_us: int | None = None


@record
class MayArriveTwice:
    """Another way was chosen for it while `channel` was sending it already: that one could not be taken back."""

    at_us: int
    notice: str
    send: str
    channel: str


@record
class ChannelDown:
    at_us: int
    channel: str


@record
class ChannelUp:
    at_us: int
    channel: str


@record
class ApprovalAsked:
    at_us: int
    notice: str


@record
class ApprovalGiven:
    at_us: int
    notice: str
    approved: bool


Fact = (
    NoticeAccepted
    | PolicyChanged
    | Acked
    | Snoozed
    | Withdrawn
    | Muted
    | Unmuted
    | AwaySet
    | ReceiptIn
    | Returned
    | MayArriveTwice
    | ChannelDown
    | ChannelUp
    | ApprovalAsked
    | ApprovalGiven
)


# -- The state: the fold of facts and decisions --


@record
class Standing:
    """
    Where one notice stands.

    `round` counts how often it started over (given back, or snoozed after it was sent); it is part of a send's key.
    `over_us`: since when it waits because the agent's budget was used up. `send`: the latest delivery of the notice
    itself, `tried` the channels of those; `step_send` and `repeat_send` the latest of each kind. `first_us`, `last_us`,
    `step_us`: the first receipt of this round, the latest, and that of the latest step. `reached`: person and channel.
    """

    notice: AcceptedNotice
    state: NoticeState = NoticeState.ACCEPTED
    seq: int = 0
    round: int = 0
    until_us: int | None = None
    reasons: tuple[HoldReason, ...] = ()
    urgency: Urgency = Urgency.NORMAL
    snoozed: bool = False
    snoozed_until_us: int | None = None
    parked: bool = False
    over_us: int | None = None
    returned_until_us: int | None = None
    digest: str | None = None
    into: str | None = None
    send: str | None = None
    step_send: str | None = None
    repeat_send: str | None = None
    tried: tuple[str, ...] = ()
    repeats: int = 0
    steps: tuple[str, ...] = ()
    reached: tuple[tuple[str, str], ...] = ()
    first_us: int | None = None
    last_us: int | None = None
    step_us: int | None = None
    recall: bool = False
    uncertain: bool = False
    acked_us: int | None = None

    @property
    def asks(self) -> bool:
        """Whether a person has to acknowledge it."""
        return self.notice.needs_ack or self.urgency is Urgency.CRITICAL

    @property
    def lowered(self) -> Urgency | None:
        """The urgency that counts, where its agent asked for more."""
        return self.urgency if rank(self.urgency) < rank(self.notice.urgency) else None

    @property
    def to_correct(self) -> bool:
        """It left, and was withdrawn since."""
        return self.recall and self.state in (NoticeState.SENT, NoticeState.DIGESTED, NoticeState.WAITING)


class SendKind(StrEnum):
    NOTICE = "notice"
    DIGEST = "digest"
    REPEAT = "repeat"
    STEP = "step"
    CORRECTION = "correction"


@record
class NoticeSend:
    """
    One delivery that was decided.

    `leading`: it opened a collect window. `replaced`: another way was chosen before its receipt came; `twice`: and it
    could not be taken back.
    """

    key: str
    kind: SendKind
    at_us: int
    notices: tuple[str, ...]
    person: str
    channel: str
    agent: str = ""
    thread: str | None = None
    urgency: Urgency = Urgency.NORMAL
    leading: bool = False
    outcome: SendOutcome | None = None
    receipt_us: int | None = None
    replaced: bool = False
    twice: bool = False
    returned: bool = False

    @property
    def pending(self) -> bool:
        return self.outcome is None and not self.returned


@record
class Silence:
    """`missed`: how many of whom it kept from the person; `channel`: where the last of them would have gone."""

    agent: str | None = None
    thread: str | None = None
    category: str | None = None
    until_us: int | None = None
    missed: tuple[tuple[str, int], ...] = ()
    channel: str | None = None

    @property
    def what(self) -> tuple[str | None, str | None, str | None]:
        return self.agent, self.thread, self.category

    def covers(self, notice: AcceptedNotice, at_us: int) -> bool:
        lasts = self.until_us is None or self.until_us > at_us
        is_from = self.agent is None or _same_sender(self.agent, notice.agent)
        labels = ((self.thread, notice.thread), (self.category, notice.category))
        return lasts and is_from and all(wanted is None or wanted == label for wanted, label in labels)

    def is_of(self, agent: str | None, thread: str | None, category: str | None) -> bool:
        """Whether this is what is muted again, or unmuted."""
        return _same_sender(self.agent, agent) and (self.thread, self.category) == (thread, category)


def _same_sender(one: str | None, other: str | None) -> bool:
    """People write `ci` where the household keeps `program:ci`."""
    if one is None or other is None or one == other:
        return one == other
    return one.partition(":")[2] == other or other.partition(":")[2] == one


@record
class AttentionState:
    """
    One person's. A store has to load: open notices; those of the last day, for budgets, duplicates and keys; what is
    silenced, absences, channels that are down, tombstones, and the digests and sends of open notices.

    `clock_us`: the latest moment that was folded; time never goes back behind it.
    """

    person: str
    notices: Mapping[str, Standing] = field(default_factory=dict)
    sends: Mapping[str, NoticeSend] = field(default_factory=dict)
    digests: Mapping[str, Digest] = field(default_factory=dict)
    silences: tuple[Silence, ...] = ()
    absences: tuple[Absence, ...] = ()
    down: Mapping[str, int] = field(default_factory=dict)
    tombstones: Mapping[tuple[str, str], int] = field(default_factory=dict)
    slots_used: Mapping[str, int] = field(default_factory=dict)
    clock_us: int = 0

    def in_order(self) -> Iterator[Standing]:
        """By when they were accepted, then by id: the order in which everything is decided."""
        return iter(sorted(self.notices.values(), key=lambda standing: standing.notice.order))

    def unsettled(self) -> list[Standing]:
        return [standing for standing in self.in_order() if standing.state in OPEN or standing.to_correct]

    def pending(self, key: str | None) -> bool:
        """Whether this send has no receipt yet."""
        send = self.sends.get(key or "")
        return send is not None and send.pending


# -- One codec for facts, decisions, state and messages, by their own types --

Value = TypeVar("Value")
Read = Callable[[Any], Any]
_EVENTS: Final[Mapping[str, type[Any]]] = {
    kind.__name__: kind for kind in (*get_args(Fact), Decision)
}  # by the name under which they are in the log
_write = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode


def encoded(value: Any) -> str:
    """What has its default is left out, so a field that is added later reads old rows; one that is gone is skipped."""
    return _write(_plain(value))


def decoded(kind: type[Value], text: str) -> Value:
    value: Value = _reader(kind)(json.loads(text))  # type: ignore[arg-type]  # types can be hashed
    return value


def decoded_event(kind: str, text: str) -> Fact | Decision:
    event: Fact | Decision = decoded(_EVENTS[kind], text)
    return event


def _plain(value: Any) -> Any:
    if value is None or type(value) in (str, int, bool, float):
        return value
    if isinstance(value, StrEnum):
        return str(value)
    if isinstance(value, time | datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return [[_plain(name), _plain(one)] for name, one in value.items()]
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    if is_dataclass(value):
        every = ((one, getattr(value, one.name)) for one in fields(value))
        return {one.name: _plain(given) for one, given in every if not _is_default(one, given)}
    return str(value) if isinstance(value, str) else value


def _is_default(one: Field[Any], given: Any) -> bool:
    return one.default is not MISSING and type(one.default) is type(given) and bool(one.default == given)


@cache
def _reader(kind: Any) -> Read:
    origin, inner = get_origin(kind), get_args(kind)
    if hasattr(kind, "__supertype__"):
        return _reader(kind.__supertype__)
    if origin in (Union, UnionType):
        return _optional(_reader(next(one for one in inner if one is not NoneType)))
    if origin is tuple:
        return _tuple(inner)
    if origin is not None and issubclass(origin, Mapping):
        return _mapping(_reader(inner[0]), _reader(inner[1]))
    if is_dataclass(kind):
        return _record(kind)
    if isinstance(kind, type) and issubclass(kind, time | datetime):
        return kind.fromisoformat
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return kind
    return _as_it_is


def _as_it_is(value: Any) -> Any:
    return value


def _optional(read: Read) -> Read:
    return lambda value: None if value is None else read(value)


def _tuple(inner: tuple[Any, ...]) -> Read:
    if len(inner) == 2 and inner[1] is Ellipsis:
        each = _reader(inner[0])
        return lambda value: tuple(each(one) for one in value)
    every = [_reader(one) for one in inner]
    return lambda value: tuple(read(one) for read, one in zip(every, value, strict=True))


def _mapping(name: Read, one: Read) -> Read:
    return lambda value: {name(key): one(item) for key, item in value}


def _record(kind: Any) -> Read:
    hints = get_type_hints(kind)
    readers = {one.name: _reader(hints[one.name]) for one in fields(kind)}
    return lambda value: kind(**{name: readers[name](one) for name, one in value.items() if name in readers})
