"""What a sender is told about an intent, now and later."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from postroom.domain.intent import RECEIPT, AgentIntent, IntentEvent, IntentStatus
from postroom.domain.time import to_text


def receipt(intent: AgentIntent) -> dict[str, Any]:
    """The four words of the specification, and the full status beside them."""
    return {
        "intent_id": intent.id,
        "status": RECEIPT[intent.status],
        "lifecycle_status": str(intent.status),
        "created_at": to_text(intent.created_at_us),
    }


def first_receipt(intent: AgentIntent) -> dict[str, Any]:
    """The one its sender was given when it was stored, whatever has become of it since."""
    return receipt(replace(intent, status=IntentStatus.SUBMITTED))


def in_protocol_words(told: dict[str, Any]) -> dict[str, Any]:
    """A receipt as the gateway gives it: `status` says the protocol's word, `legacy_status` the specification's."""
    return {**told, "status": told["lifecycle_status"], "legacy_status": told["status"]}


def completion_delivery(intent: AgentIntent) -> dict[str, Any]:
    """How the end of an intent reaches the agent that was to have it; the thread stands in its inbox at once."""
    return {
        "delivered": intent.reply_to is not None,
        "reason": "reply_to_not_set" if intent.reply_to is None else "in_inbox",
        "reply_to": intent.reply_to,
        "thread_id": intent.id,
    }


def intent_document(intent: AgentIntent) -> dict[str, Any]:
    reminders = sum(1 for step in intent.plan[: intent.position] if step.kind == "remind")
    return {
        "intent_id": intent.id,
        "intent_type": intent.intent_type,
        "correlation_id": intent.correlation_id,
        "from_agent": intent.from_agent,
        "to_agent": intent.to_agent,
        "handler": intent.handler,
        "payload": dict(intent.payload),
        "metadata": dict(intent.metadata),
        "reply_to": intent.reply_to,
        "status": str(intent.status),
        "lifecycle_status": str(intent.status),
        "legacy_status": RECEIPT[intent.status],
        "waiting_reason": str(intent.waiting_reason) if intent.waiting_reason else None,
        "seq": intent.seq,
        "macro_id": intent.macro_id,
        "remind_count": reminders,
        "deadline_at": to_text(intent.deadline_at_us) if intent.deadline_at_us is not None else None,
        "result": dict(intent.result) if intent.result is not None else None,
        "created_at": to_text(intent.created_at_us),
        "updated_at": to_text(intent.updated_at_us),
    }


def event_document(event: IntentEvent) -> dict[str, Any]:
    return {
        "event_id": event.id,
        "intent_id": event.intent_id,
        "seq": event.seq,
        "event_type": str(event.event_type),
        "status": str(event.status),
        "at": to_text(event.at_us),
        "actor": event.actor,
        "waiting_reason": str(event.waiting_reason) if event.waiting_reason else None,
        "payload": dict(event.payload),
    }
