"""From what an assistant passed on to one canonical envelope."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from postroom.domain.contact import InputMode
from postroom.domain.intent import ASK, REPLY
from postroom.work.intents.schemas import check_envelope

_SHORT_NAMES: Final = {"ask": ASK, "reply": REPLY, "intent.ask": ASK, "intent.reply": REPLY}


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantCall:
    """What an assistant asked for, in our words whatever the face called it."""

    from_agent: str
    to_agent: str | None = None
    recipient_name: str | None = None
    intent_type: str = ASK
    payload: Mapping[str, Any] = field(default_factory=dict)
    message: str | None = None
    question: str | None = None
    answer: str | None = None
    context: str | None = None
    deadline_at: str | None = None
    status: str | None = None
    clarification_question: str | None = None
    correlation_id: str | None = None
    idempotency_key: str | None = None
    input_mode: InputMode = InputMode.TEXT
    resolve_only: bool = False
    confirm_send: bool = False
    resolution_token: str | None = None
    workflow_macro_id: str | None = None
    workflow_macro_params: Mapping[str, Any] | None = None
    workflow_owner_agent: str | None = None
    conversation_id: str | None = None
    call_id: str | None = None
    connector: str = ""


def intent_type_of(name: str | None) -> str:
    """`ask` and `reply` will do; anything else is left to the schema to refuse."""
    return ASK if name is None else _SHORT_NAMES.get(name, name)


def build_envelope(
    call: AssistantCall, to_agent: str, *, intent_id: str, correlation_id: str, created_at: str
) -> dict[str, Any]:
    """Valid by the schemas, or refused with every field that is not."""
    payload = _payload(call, created_at)
    envelope: dict[str, Any] = {
        "version": "v1",
        "intent_type": call.intent_type,
        "intent_id": intent_id,
        "correlation_id": call.correlation_id or correlation_id,
        "created_at": created_at,
        "from_agent": call.from_agent,
        "to_agent": to_agent,
        "payload": payload,
        "metadata": _metadata(call),
    }
    if key := call.idempotency_key or _natural_key(call, to_agent, payload):
        envelope["idempotency_key"] = key
    check_envelope(envelope)
    return envelope


def _payload(call: AssistantCall, now: str) -> dict[str, Any]:
    payload = dict(call.payload)
    if call.intent_type == REPLY:
        _fill(payload, answer=call.answer or call.message, status=call.status or "answered", responded_at=now)
        _fill(payload, clarification_question=call.clarification_question)
        payload["responded_by"] = call.from_agent
    else:
        _fill(payload, question=call.question or call.message, requested_at=now)
        _fill(payload, context=call.context, deadline_at=call.deadline_at)
        payload["requested_by"] = call.from_agent
    if workflow := _workflow(call):
        payload["workflow"] = workflow
    return payload


def _fill(payload: dict[str, Any], **values: str | None) -> None:
    """The flat fields help out where the payload itself says nothing."""
    for name, value in values.items():
        if value is not None:
            payload.setdefault(name, value)


def _workflow(call: AssistantCall) -> dict[str, Any]:
    parts = {
        "macro_id": call.workflow_macro_id,
        "params": dict(call.workflow_macro_params) if call.workflow_macro_params is not None else None,
        "owner_agent": call.workflow_owner_agent,
    }
    return {name: value for name, value in parts.items() if value is not None}


def _metadata(call: AssistantCall) -> dict[str, str]:
    parts = {
        "input_mode": str(call.input_mode),
        "connector": call.connector or None,
        "conversation_id": call.conversation_id,
        "call_id": call.call_id,
    }
    return {name: value for name, value in parts.items() if value is not None}


def _natural_key(call: AssistantCall, to_agent: str, payload: Mapping[str, Any]) -> str | None:
    """A host that repeats a call repeats its id; the content is in it, since some hosts reuse ids."""
    if call.call_id is None:
        return None
    said = payload.get("question") or payload.get("answer")
    parts = [call.connector, call.conversation_id, call.call_id, call.from_agent, to_agent, call.intent_type, said]
    return hashlib.sha256(json.dumps(parts, ensure_ascii=True).encode()).hexdigest()
