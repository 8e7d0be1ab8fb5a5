"""Moves of an intent: each change with the events that tell of it, and what an answer makes of an ask."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from postroom.intents.model import (
    APPROVAL,
    AgentIntent,
    IntentChange,
    IntentEvent,
    IntentEventType,
    IntentStatus,
    WaitingReason,
    event_of,
    steps_to,
)
from postroom.kernel.values.ids import to_text
from postroom.kernel.values.json import storable


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


# What an answer makes of an ask.

# The words the question itself names; questions that left before these stood on them said "yes" or "no".
APPROVE_WORD: Final = "approve"
REJECT_WORD: Final = "reject"
_APPROVES: Final = frozenset([APPROVE_WORD, "yes"])
_REJECTS: Final = frozenset([REJECT_WORD, "no"])


def answer_payload(text: str, moment: MoveContext, status: str = "answered") -> dict[str, Any]:
    return {
        "answer": text,
        "status": status,
        "responded_by": moment.actor,
        "responded_at": to_text(moment.now_us),
    }


def answered(ask: AgentIntent, answer: Mapping[str, Any], moment: MoveContext) -> IntentChange:
    """What an answer makes of an ask that is still open; who gave it is who acts, whatever it claims."""
    answer = {**answer, "responded_by": moment.actor}
    if answer["status"] == "needs_clarification":
        return _asked_back(ask, answer, moment)
    if ask.macro_id == APPROVAL and answer["status"] == "declined":
        return decided(ask, approve=False, comment=answer["answer"], moment=moment)
    if ask.macro_id == APPROVAL and answer["status"] == "answered":
        return _decided_by_words(ask, answer["answer"], moment)
    goal = IntentStatus.TIMED_OUT if answer["status"] == "timeout" else IntentStatus.COMPLETED
    says = {"author": moment.actor, "message": answer["answer"]}
    return moved(ask, goal, moment, payload={"status": answer["status"]}, result=answer, says=says)


def _decided_by_words(intent: AgentIntent, text: str, moment: MoveContext) -> IntentChange:
    """Only the exact word decides; anything else is kept and the question stays open."""
    word = text.casefold().strip(" .!")
    if word not in _APPROVES | _REJECTS:
        return undecided(intent, text, moment)
    return decided(intent, approve=word in _APPROVES, comment=text, moment=moment)


def undecided(intent: AgentIntent, text: str, moment: MoveContext) -> IntentChange:
    """Words that are kept and decide nothing."""
    seen = unchanged(intent)
    if intent.status is not IntentStatus.IN_PROGRESS:
        seen = moved(intent, IntentStatus.IN_PROGRESS, moment, payload={"undecided": True})
    return IntentChange(intent=seen.intent, events=seen.events, says={"author": moment.actor, "message": text})


def said_after(intent: AgentIntent, text: str, moment: MoveContext) -> IntentChange:
    """Words in a thread that is over, of any of those it concerns; they change nothing in it."""
    change = noted(intent, IntentEventType.MESSAGE, moment)
    return replace(change, says={"author": moment.actor, "message": text})


def decided(intent: AgentIntent, *, approve: bool, comment: str, moment: MoveContext) -> IntentChange:
    decision, status = ("approved", "answered") if approve else ("rejected", "declined")
    result = {**answer_payload(comment or decision, moment, status), "decision": decision}
    says = {"author": moment.actor, "message": comment or decision}
    return moved(intent, IntentStatus.COMPLETED, moment, payload={"decision": decision}, result=result, says=says)


def _asked_back(ask: AgentIntent, answer: Mapping[str, Any], moment: MoveContext) -> IntentChange:
    working = unchanged(ask)
    if ask.status is IntentStatus.WAITING:
        working = moved(ask, IntentStatus.IN_PROGRESS, moment)
    return then(
        working,
        lambda found: moved(
            found,
            IntentStatus.WAITING,
            moment,
            waiting_reason=WaitingReason.AGENT,
            payload={"clarification_question": answer["clarification_question"]},
            says={"author": moment.actor, "message": answer["answer"]},
        ),
    )


def butler_answer(result: Mapping[str, Any], agent: str, now: str) -> dict[str, Any]:
    """Whatever a butler's session said, as the payload of a reply; older households kept words as they came."""
    said = next((str(result[name]) for name in ("answer", "output", "text", "message") if result.get(name)), "done")
    return {"answer": storable(said[:5000]), "status": "answered", "responded_by": agent, "responded_at": now}
