"""What an answer makes of an ask."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from postroom.domain.intent import (
    APPROVAL,
    AgentIntent,
    IntentChange,
    IntentEventType,
    IntentStatus,
    WaitingReason,
)
from postroom.domain.time import to_text
from postroom.work.intents.moves import MoveContext, moved, noted, then, unchanged

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
        return decided_by_words(ask, answer["answer"], moment)
    goal = IntentStatus.TIMED_OUT if answer["status"] == "timeout" else IntentStatus.COMPLETED
    says = {"author": moment.actor, "message": answer["answer"]}
    return moved(ask, goal, moment, payload={"status": answer["status"]}, result=answer, says=says)


def decided_by_words(intent: AgentIntent, text: str, moment: MoveContext) -> IntentChange:
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
