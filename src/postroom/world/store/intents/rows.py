"""Intents as rows, and rows as intents."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Row

from postroom.domain.intent import (
    AgentIntent,
    IntentEvent,
    Step,
    StepKind,
)
from postroom.domain.strict_json import strict_json
from postroom.world.store.engine.rows import read, values


def intent_row(intent: AgentIntent) -> dict[str, Any]:
    return {
        "id": intent.id,
        "intent_type": intent.intent_type,
        "correlation_id": intent.correlation_id,
        "from_agent": intent.from_agent,
        "to_agent": intent.to_agent,
        "payload": _text(intent.payload),
        "metadata": _text(intent.metadata),
        "idempotency_key": intent.idempotency_key,
        "fingerprint": intent.fingerprint,
        "submitted_by": intent.submitted_by,
        "reply_to": intent.reply_to,
        "deadline_at": intent.deadline_at_us,
        "macro_id": intent.macro_id,
        "created_at": intent.created_at_us,
        **changing_columns(intent),
    }


def changing_columns(intent: AgentIntent) -> dict[str, Any]:
    return {
        "handler": intent.handler,
        "status": str(intent.status),
        "waiting_reason": str(intent.waiting_reason) if intent.waiting_reason else None,
        "seq": intent.seq,
        "plan": json.dumps([[str(step.kind), step.at_us, step.to_agent] for step in intent.plan]),
        "position": intent.position,
        "next_at": intent.next_at_us,
        "carried": intent.carried,
        "result": _text(intent.result) if intent.result is not None else None,
        "updated_at": intent.updated_at_us,
    }


def read_intent(row: Row[Any]) -> AgentIntent:
    return read(
        AgentIntent,
        row,
        payload=json.loads(row.payload),
        metadata=json.loads(row._mapping["metadata"]),
        plan=tuple(Step(StepKind(kind), at_us, to_agent) for kind, at_us, to_agent in json.loads(row.plan)),
        result=json.loads(row.result) if row.result is not None else None,
    )


def event_row(event: IntentEvent) -> dict[str, Any]:
    return values(event, payload=_text(event.payload))


def read_event(row: Row[Any]) -> IntentEvent:
    return read(IntentEvent, row, payload=json.loads(row.payload))


def _text(document: Mapping[str, Any]) -> str:
    return strict_json(dict(document), separators=(",", ":"))
