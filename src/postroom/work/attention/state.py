"""All that is known about one person's notices: the fold of facts and decisions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from enum import StrEnum

from postroom.domain.attention import AcceptedNotice, HoldReason, rank
from postroom.domain.notice_states import OPEN, NoticeState
from postroom.domain.record import record
from postroom.domain.risk_and_urgency import Urgency
from postroom.work.attention.absence import Absence
from postroom.work.attention.digest import Digest
from postroom.work.attention.facts import SendOutcome


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
        is_from = self.agent is None or same_sender(self.agent, notice.agent)
        labels = ((self.thread, notice.thread), (self.category, notice.category))
        return lasts and is_from and all(wanted is None or wanted == label for wanted, label in labels)

    def is_of(self, agent: str | None, thread: str | None, category: str | None) -> bool:
        """Whether this is what is muted again, or unmuted."""
        return same_sender(self.agent, agent) and (self.thread, self.category) == (thread, category)


def same_sender(one: str | None, other: str | None) -> bool:
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
