"""All that is known about one person's notices: the fold of facts and decisions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from postroom.domain.attention import AcceptedNotice, HoldReason
from postroom.domain.notice_states import OPEN, NoticeState
from postroom.domain.question import Urgency
from postroom.domain.record import record
from postroom.work.attention.absence import Absence
from postroom.work.attention.digest import Digest
from postroom.work.attention.facts import SendOutcome


@record
class Standing:
    """
    Where one notice stands.

    `round` counts how often it started over (a snooze after it was sent); with step and repeat it makes the key of a
    send. `over_us`: since when it waits for a slot because the agent's budget was used up. `first_us` and `last_us`:
    the first and the latest receipt of this round; `step_us`: that of the latest step. `reached`: person and channel.
    """

    notice: AcceptedNotice
    state: NoticeState = NoticeState.ACCEPTED
    seq: int = 0
    round: int = 0
    version: int = 1
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
    repeats: int = 0
    steps: tuple[str, ...] = ()
    reached: tuple[tuple[str, str], ...] = ()
    first_us: int | None = None
    last_us: int | None = None
    step_us: int | None = None
    recall: bool = False
    corrected: int = 1
    uncertain: bool = False
    acked_us: int | None = None

    @property
    def open(self) -> bool:
        return self.state in OPEN


@record
class NoticeSend:
    """One delivery that was decided; `agent` is whose interruption it counts as, None for digests and corrections."""

    key: str
    at_us: int
    notices: tuple[str, ...]
    person: str
    channel: str
    agent: str | None = None
    thread: str | None = None
    urgency: Urgency = Urgency.NORMAL
    leading: bool = False
    outcome: SendOutcome | None = None
    receipt_us: int | None = None
    replaced: bool = False
    returned: bool = False


@record
class Silence:
    agent: str | None = None
    thread: str | None = None
    category: str | None = None
    until_us: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
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
