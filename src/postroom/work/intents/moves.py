"""Changes to an intent, each with the events that tell of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from postroom.domain.intent import (
    AgentIntent,
    IntentChange,
    IntentEvent,
    IntentEventType,
    IntentStatus,
    WaitingReason,
    event_of,
    steps_to,
)


@dataclass(frozen=True, slots=True)
class MoveContext:
    """When, by whom, and where new ids come from."""

    now_us: int
    actor: str
    mint: Callable[[int], str]


def opened(intent: AgentIntent, moment: MoveContext) -> IntentChange:
    """Created and stored are two events of one commit."""
    created = _event(intent, 1, IntentEventType.CREATED, IntentStatus.CREATED, moment)
    stored = _event(intent, 2, IntentEventType.SUBMITTED, IntentStatus.SUBMITTED, moment)
    return IntentChange(intent=replace(intent, seq=2, status=IntentStatus.SUBMITTED), events=(created, stored))


def moved(
    intent: AgentIntent,
    goal: IntentStatus,
    moment: MoveContext,
    *,
    payload: Mapping[str, Any] | None = None,
    waiting_reason: WaitingReason | None = None,
    result: Mapping[str, Any] | None = None,
    says: Mapping[str, Any] | None = None,
) -> IntentChange:
    """Raises Refused on a move the table does not have."""
    events: list[IntentEvent] = []
    for status in steps_to(intent.status, goal):
        last = status is goal
        reason = waiting_reason if status is IntentStatus.WAITING else None
        event = _event(intent, intent.seq + 1, event_of(status), status, moment, reason, payload if last else None)
        events.append(event)
        intent = replace(intent, status=status, seq=event.seq, waiting_reason=reason)
    after = replace(
        intent,
        updated_at_us=moment.now_us,
        result=result if result is not None else intent.result,
        next_at_us=intent.next_at_us if intent.is_open else None,
        # whoever wants the answer sent on has it sent by the loop
        carried=intent.carried or (goal is IntentStatus.COMPLETED and intent.reply_to is not None),
    )
    return IntentChange(intent=after, events=tuple(events), says=says)


def noted(
    intent: AgentIntent, event_type: IntentEventType, moment: MoveContext, payload: Mapping[str, Any] | None = None
) -> IntentChange:
    """Something happened that changes no status."""
    event = _event(intent, intent.seq + 1, event_type, intent.status, moment, intent.waiting_reason, payload)
    return IntentChange(intent=replace(intent, seq=event.seq, updated_at_us=moment.now_us), events=(event,))


def unchanged(intent: AgentIntent) -> IntentChange:
    return IntentChange(intent=intent, events=())


def then(first: IntentChange, second: Callable[[AgentIntent], IntentChange]) -> IntentChange:
    """One after the other, in one commit."""
    after = second(first.intent)
    return IntentChange(intent=after.intent, events=(*first.events, *after.events), says=after.says or first.says)


def _event(
    intent: AgentIntent,
    seq: int,
    event_type: IntentEventType,
    status: IntentStatus,
    moment: MoveContext,
    reason: WaitingReason | None = None,
    payload: Mapping[str, Any] | None = None,
) -> IntentEvent:
    return IntentEvent(
        id=moment.mint(moment.now_us),
        intent_id=intent.id,
        seq=seq,
        event_type=event_type,
        status=status,
        at_us=moment.now_us,
        actor=moment.actor,
        waiting_reason=reason,
        payload=dict(payload or {}),
    )
