"""What leaves the household for an intent: a message to a person, a route to a butler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from postroom.domain.capabilities import Capabilities
from postroom.domain.intent import AgentIntent, Step
from postroom.domain.outgoing import Outgoing
from postroom.domain.route import Route
from postroom.domain.storable_text import storable
from postroom.work.intents.directory import PersonTarget
from postroom.work.intents.wording import Letter, answer_letter, letter

ORIGIN: Final = "intents"


def to_person(intent: AgentIntent, step: Step, person: PersonTarget, sender: str, can: Capabilities) -> Outgoing:
    """The same however often the step is tried."""
    written = letter(intent, step.kind, sender, heard=can.inbound, proved=person.proved)
    return _outgoing(intent, written, person, f"{intent.id}:{intent.position}", can)


def completion(intent: AgentIntent, person: PersonTarget, sender: str, can: Capabilities) -> Outgoing:
    return _outgoing(intent, answer_letter(intent, sender), person, f"{intent.id}:completion", can)


def _outgoing(intent: AgentIntent, written: Letter, person: PersonTarget, key: str, can: Capabilities) -> Outgoing:
    return Outgoing(
        origin_butler=ORIGIN,
        asker=intent.from_agent,
        channel=person.channel,
        recipient=person.address,
        message=written.text,
        subject=written.subject if can.style == "letter" else None,
        idempotency_key=key,
    )


def butler_route(intent: AgentIntent, received_at: str) -> Route:
    """What was said goes as the prompt, who said it as the sender: text stays data on both."""
    return Route(
        request_id=intent.id,
        sender=intent.from_agent,
        prompt=intent.text,
        context={
            "intent_id": intent.id,
            "correlation_id": intent.correlation_id,
            "intent_type": intent.intent_type,
            "from_agent": intent.from_agent,
            "context": intent.payload.get("context"),
            "how_to_answer": "The last thing you say is given to the asker as your answer.",
        },
        request_context={
            "request_id": intent.id,
            "received_at": received_at,
            "source_channel": "mcp",
            "source_endpoint_identity": "gateway",
            "source_sender_identity": intent.from_agent,
        },
    )


def butler_answer(result: Mapping[str, Any], agent: str, now: str) -> dict[str, Any]:
    """Whatever a butler's session said, as the payload of a reply; older households kept words as they came."""
    said = next((str(result[name]) for name in ("answer", "output", "text", "message") if result.get(name)), "done")
    return {"answer": storable(said[:5000]), "status": "answered", "responded_by": agent, "responded_at": now}
