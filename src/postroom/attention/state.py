"""All that is known about one person's notices: facts, the state they fold to, and both as rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, fields, replace
from enum import StrEnum

from postroom.attention.model import LEFT, OPEN, Decision, NoticeState, Policy
from postroom.attention.rules.digest import Digest
from postroom.attention.rules.policy import Absence
from postroom.kernel.database.rows import of_json
from postroom.kernel.values.ids import record
from postroom.kernel.values.moments import Reason
from postroom.message.delivery import Status
from postroom.message.outgoing import Outgoing
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
    at_us: int
    notice: str
    until_us: int


@record
class Withdrawn:
    """By the agent that wrote it: one notice by its id, or all of a key, also when they have not come yet."""

    at_us: int
    agent: str
    notice: str | None = None
    key: str | None = None


@record
class Muting:
    """What is None is not asked about; at least one is set."""

    agent: str | None = None
    thread: str | None = None
    category: str | None = None

    @property
    def what(self) -> tuple[str | None, str | None, str | None]:
        return self.agent, self.thread, self.category

    def is_of(self, other: Muting) -> bool:
        """Whether this is what is muted again, or unmuted."""
        return same_sender(self.agent, other.agent) and self.what[1:] == other.what[1:]


def same_sender(one: str | None, other: str | None) -> bool:
    """People write `ci` where the household keeps `program:ci`."""
    if one is None or other is None or one == other:
        return one == other
    return one.partition(":")[2] == other or other.partition(":")[2] == one


@record
class Muted(Muting):
    """`until_us` None: until it is unmuted."""

    at_us: int
    until_us: int | None = None


@record
class Unmuted(Muting):
    at_us: int


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
    until_us: int


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
class NoticeRefused:
    """By a person who had to approve it."""

    at_us: int
    notice: str


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
    | NoticeRefused
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
    snoozed_until_us: int | None = None
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
    def is_open(self) -> bool:
        """Something may still happen to it by itself."""
        return self.state in OPEN or self.to_correct

    @property
    def lowered(self) -> Urgency | None:
        """The urgency that counts, where its agent asked for more."""
        return self.urgency if rank(self.urgency) < rank(self.notice.urgency) else None

    @property
    def to_correct(self) -> bool:
        """It left, and was withdrawn since."""
        return self.recall and self.state in LEFT


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
class Silence(Muting):
    """`missed`: how many of whom it kept from the person; `channel`: where the last of them would have gone."""

    until_us: int | None = None
    missed: tuple[tuple[str, int], ...] = ()
    channel: str | None = None

    def covers(self, notice: AcceptedNotice, at_us: int) -> bool:
        lasts = self.until_us is None or self.until_us > at_us
        is_from = self.agent is None or same_sender(self.agent, notice.agent)
        labels = ((self.thread, notice.thread), (self.category, notice.category))
        return lasts and is_from and all(wanted is None or wanted == label for wanted, label in labels)


@record
class Rest:
    """What belongs to no single notice. `clock_us`: the latest moment folded; time never goes back behind it."""

    silences: tuple[Silence, ...] = ()
    absences: tuple[Absence, ...] = ()
    down: Mapping[str, int] = field(default_factory=dict)
    tombstones: Mapping[tuple[str, str], int] = field(default_factory=dict)
    slots_used: Mapping[str, int] = field(default_factory=dict)
    clock_us: int = 0

    @property
    def has_wishes(self) -> bool:
        """Something is muted, away or taken back before it came: that counts without a policy as well."""
        return bool(self.silences or self.absences or self.tombstones)


@record
class AttentionState(Rest):
    """
    One person's. A store has to load: open notices; those of the last day, for budgets, duplicates and keys; what is
    silenced, absences, channels that are down, tombstones, and the digests and sends of open notices.
    """

    person: str
    notices: Mapping[str, Standing] = field(default_factory=dict)
    sends: Mapping[str, NoticeSend] = field(default_factory=dict)
    digests: Mapping[str, Digest] = field(default_factory=dict)

    def in_order(self) -> Iterator[Standing]:
        """By when they were accepted, then by id: the order in which everything is decided."""
        return iter(sorted(self.notices.values(), key=lambda standing: standing.notice.order))

    def unsettled(self) -> list[Standing]:
        return [standing for standing in self.in_order() if standing.is_open]

    def pending(self, key: str | None) -> bool:
        """Whether this send has no receipt yet."""
        send = self.sends.get(key or "")
        return send is not None and send.pending


# -- The same as rows: what is searched for has a column of its own, the rest is JSON --


@record
class PersonRow:
    """`seq`: of the latest row of the log."""

    person: str
    policy: Policy | None = None
    rest: Rest = Rest()
    seq: int = 0


@record
class KeptNotice:
    standing: Standing

    @property
    def id(self) -> str:
        return self.standing.notice.id

    @property
    def person(self) -> str:
        return self.standing.notice.person


@record
class NoticeRow(KeptNotice):
    """`path`: the states it came through since it was read. `outgoing`: its message, read only where that is needed."""

    fingerprint: str = ""
    request_id: str = ""
    outgoing: str = ""
    path: tuple[str, ...] = ()

    @property
    def message(self) -> Outgoing:
        return of_json(Outgoing, self.outgoing)


@record
class SendRow:
    """
    A delivery that was decided, frozen; `delivery_id` is None until the ledger has it.

    `notice`: the one whose message this is, unchanged; its words are kept once, with the notice.
    """

    person: str
    send: NoticeSend
    outgoing: str | None = None
    notice: str | None = None
    request_id: str = ""
    delivery_id: str | None = None
    lease_until_us: int | None = None
    fence: int = 0

    @property
    def key(self) -> str:
        return self.send.key

    @property
    def message(self) -> Outgoing:
        return frozen(of_json(Outgoing, self.outgoing or ""), self.key)


def frozen(message: Outgoing, send: str) -> Outgoing:
    """As it leaves: under the send's own key, so that the ledger keeps one delivery however often it is handed over."""
    return replace(message, idempotency_key=send, released=True, wish=None)


@record
class LogRow:
    seq: int
    event: Fact | Decision

    @property
    def notice(self) -> str | None:
        """Whom it is about, if it is about one."""
        one = self.event
        return one.notice.id if isinstance(one, NoticeAccepted) else getattr(one, "notice", None)


@record
class Wanted:
    """What is to be read besides what is open and recent: by ids, by an agent's key, by sends."""

    since_us: int = 0
    notices: tuple[str, ...] = ()
    agent: str | None = None
    key: str | None = None
    sends: tuple[str, ...] = ()
    everything: bool = False


@record
class Loaded:
    """`due`: what is due by itself, and when."""

    person: PersonRow | None
    notices: tuple[NoticeRow, ...] = ()
    sends: tuple[SendRow, ...] = ()
    digests: tuple[Digest, ...] = ()
    due: Mapping[Reason, int] = field(default_factory=dict)

    @property
    def policy(self) -> Policy | None:
        return self.person.policy if self.person is not None else None

    def state(self, person: str) -> AttentionState:
        rest = self.person.rest if self.person is not None else Rest()
        return AttentionState(
            person=person,
            notices={one.id: one.standing for one in self.notices},
            sends={one.key: one.send for one in self.sends},
            digests={one.id: one for one in self.digests},
            **{one.name: getattr(rest, one.name) for one in fields(Rest)},
        )


@record
class NoticeChanges:
    person: PersonRow
    notices: tuple[NoticeRow, ...] = ()
    sends: tuple[SendRow, ...] = ()
    digests: tuple[Digest, ...] = ()
    due: Mapping[Reason, int] = field(default_factory=dict)
    log: tuple[LogRow, ...] = ()


@record
class SettledSend:
    """
    A send whose delivery has ended.

    `refused`: by a person who had to approve it. `withdrawn`: taken back before it was sent.
    """

    key: str
    person: str
    delivery_id: str
    status: Status
    outgoing: Outgoing | None
    refused: bool
    uncertain: bool
    withdrawn: bool


@record
class NoticeCounts:
    """Counted in the store. `logged`: how many acceptances the log knows."""

    states: dict[str, int]
    agents: dict[str, int]
    logged: int

    @property
    def accepted(self) -> int:
        return sum(self.states.values())
