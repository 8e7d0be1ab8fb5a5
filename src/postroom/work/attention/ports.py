"""What attention needs from the world, by shape alone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from postroom.domain.outcome import Outcome
from postroom.domain.outgoing import Outgoing
from postroom.work.attention.decisions import Decision
from postroom.work.attention.facts import Fact
from postroom.work.attention.policy import Policy
from postroom.work.attention.state import AttentionState
from postroom.work.attention.views import NoticeView

Event = Fact | Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSend:
    """A delivery that was decided; `delivery_id` is None while it has not been handed over."""

    key: str
    person: str
    outgoing: Outgoing
    delivery_id: str | None = None
    fence: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """One person's, as it was read under the lock: the folded state, the person's own policy and their messages."""

    state: AttentionState
    policy: Policy | None = None
    known: bool = False  # whether there is a row of the person


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What one transaction adds: events in order, the state they come to, and the frozen messages of new sends."""

    events: tuple[Event, ...]
    state: AttentionState
    next_us: int | None
    policy: Policy | None = None
    outgoings: Mapping[str, Outgoing] = field(default_factory=dict)  # of accepted notices, by notice id
    sends: Mapping[str, Outgoing] = field(default_factory=dict)  # by send key


class WayOut(Protocol):
    async def submit(self, outgoing: Outgoing, *, request_id: str, wait_seconds: float) -> Outcome: ...


class NoticeStore(Protocol):
    """One person's notices are changed by one writer at a time, in whatever process."""

    async def change(self, person: str, edit: Callable[[Held], Written | None]) -> Held:
        """Read, edit and write as one transaction under the person's lock; None writes nothing."""
        ...

    async def people(self) -> Mapping[str, Policy | None]:
        """Everybody who has a row, with their own policy."""
        ...

    async def notices(
        self, person: str, states: Collection[str], limit: int, before: str | None
    ) -> Sequence[NoticeView]: ...
