"""What will happen to a person's notices if no one does anything."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from postroom.domain.attention import HoldReason
from postroom.domain.time import to_text
from postroom.work.attention.decisions import Decision, DecisionKind
from postroom.work.attention.rules import PolicyBook
from postroom.work.attention.simulate import simulate
from postroom.work.attention.state import AttentionState

_K = DecisionKind
_UNSENT: Final = "it is read, withdrawn, snoozed or muted before"
_UNANSWERED: Final = "it is acknowledged, withdrawn or snoozed before"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanItem:
    at_us: int
    notice: str
    what: DecisionKind
    where: str | None
    why: tuple[HoldReason, ...]
    unless: str | None

    def mapping(self) -> dict[str, Any]:
        """As it is shown: `{at, what, where, why, unless}`."""
        why = [str(one.reason) for one in self.why]
        return {
            "at": to_text(self.at_us),
            "what": str(self.what),
            "where": self.where,
            "why": why,
            "unless": self.unless,
        }


def plan(state: AttentionState, book: PolicyBook, now_us: int, *, notice: str | None = None) -> tuple[PlanItem, ...]:
    """The same `decide`, on a virtual clock and without further facts. `notice`: of this one alone."""
    run = simulate((), book, state=replace(state, clock_us=max(state.clock_us, now_us)))
    return tuple(planned(one) for one in run.decisions if notice is None or one.notice == notice)


def planned(decision: Decision) -> PlanItem:
    return PlanItem(
        at_us=decision.at_us,
        notice=decision.notice,
        what=decision.kind,
        where=f"{decision.person} by {decision.channel}" if decision.send is not None else None,
        why=decision.reasons,
        unless=_unless(decision),
    )


def _unless(decision: Decision) -> str | None:
    match decision.kind:
        case _K.RELEASE | _K.DELEGATE | _K.CLOSE_DIGEST | _K.EXPIRE | _K.HOLD | _K.JOIN_DIGEST:
            return _UNSENT
        case _K.REPEAT | _K.ESCALATE | _K.GIVE_UP:
            return _UNANSWERED
        case _:
            return None
