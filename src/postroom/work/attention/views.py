"""What doors and pages see of notices, and of what is going to happen to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from postroom.domain.attention import HoldReason
from postroom.domain.notice_states import CELLS, NoticeState
from postroom.domain.risk_and_urgency import Urgency
from postroom.work.attention.decisions import Decision
from postroom.work.attention.simulate import SimulatedRun
from postroom.work.attention.state import NoticeSend, Standing


@dataclass(frozen=True, slots=True, kw_only=True)
class SendView:
    """One delivery that a notice caused; `delivery_id` is None until it was handed over."""

    send: NoticeSend
    delivery_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeView:
    """One notice: where it stands, what it was sent as, and every decision about it in order."""

    standing: Standing
    sends: tuple[SendView, ...] = ()
    decisions: tuple[Decision, ...] = ()

    @property
    def id(self) -> str:
        return self.standing.notice.id

    @property
    def person(self) -> str:
        return self.standing.notice.person

    @property
    def agent(self) -> str:
        return self.standing.notice.agent

    @property
    def channel(self) -> str:
        return self.standing.notice.channel

    @property
    def text(self) -> str:
        return self.standing.notice.text

    @property
    def created_us(self) -> int:
        return self.standing.notice.created_us

    @property
    def state(self) -> NoticeState:
        return self.standing.state

    @property
    def cell(self) -> str:
        return next(name for name, states in CELLS.items() if self.standing.state in states)

    @property
    def urgency(self) -> Urgency:
        """As it counts here; what its agent asked for is `standing.notice.urgency`."""
        return self.standing.urgency

    @property
    def until_us(self) -> int | None:
        return self.standing.until_us

    @property
    def reasons(self) -> tuple[HoldReason, ...]:
        return self.standing.reasons


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionFigures:
    """`accepted` is the sum of the cells and of the states; `unaccounted` says which law is broken, and is empty."""

    accepted: int
    cells: Mapping[str, int]
    states: Mapping[str, int]
    by_agent: Mapping[str, int]
    unaccounted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What was, what would have been, and the difference in words; no words when nothing differs."""

    before: SimulatedRun
    after: SimulatedRun
    words: tuple[str, ...]
