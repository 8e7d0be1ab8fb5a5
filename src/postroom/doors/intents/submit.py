"""From a submitted body to an intent in the books."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from postroom.domain.intent import AgentIntent
from postroom.domain.principal import Principal
from postroom.domain.time import to_text
from postroom.doors.intents.parts import GatewayParts
from postroom.work.intents.agency import checked_address
from postroom.work.intents.intake import Submission

_REMINDERS = ("remind_after_seconds", "remind_interval_seconds", "max_reminders", "escalate_to")


async def submit(parts: GatewayParts, caller: Principal, body: Mapping[str, Any]) -> AgentIntent:
    """The sender comes from the token; the body may only repeat it."""
    sender = parts.agency.sender(caller, body.get("from_agent"))
    workflow = body["payload"].get("workflow")
    if isinstance(workflow, Mapping) and isinstance(workflow.get("owner_agent"), str):
        parts.agency.sender(caller, workflow["owner_agent"], "payload.workflow.owner_agent")
    reminders = {name: body[name] for name in _REMINDERS if body.get(name) is not None}
    if "escalate_to" in reminders:
        reminders["escalate_to"] = checked_address(reminders["escalate_to"], "escalate_to")
    reply_to = body.get("reply_to")
    intent, _ = await parts.intake.submit(
        Submission(
            envelope=_envelope(parts, sender, body),
            submitted_by=str(caller),
            acting=parts.acting(caller, sender),
            reply_to=checked_address(reply_to, "reply_to") if reply_to is not None else None,
            deadline_at=body.get("deadline_at"),
            reminders=reminders,
        )
    )
    return intent


def _envelope(parts: GatewayParts, sender: str, body: Mapping[str, Any]) -> dict[str, Any]:
    now = parts.clock.now_us()
    envelope = {
        "version": "v1",
        "intent_type": body["intent_type"],
        "intent_id": body.get("intent_id") or parts.mint(now),
        "correlation_id": body.get("correlation_id") or parts.mint(now),
        "created_at": body.get("created_at") or to_text(now),
        "from_agent": sender,
        "to_agent": checked_address(body["to_agent"], "to_agent"),
        "payload": dict(body["payload"]),
    }
    optional = {"idempotency_key": body.get("idempotency_key"), "metadata": body.get("metadata")}
    return envelope | {name: value for name, value in optional.items() if value is not None}
