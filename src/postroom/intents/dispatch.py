"""What leaves the household for an intent: a notify.v1 to a person, a route.v1 to a butler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from postroom.domain.intent import Intent, Step
from postroom.domain.notify import NOTIFY_V1
from postroom.domain.route import ROUTE_V1
from postroom.intents.directory import Person
from postroom.intents.wording import Letter, answer_letter, letter

ORIGIN: Final = "intents"


def person_envelope(intent: Intent, step: Step, person: Person, sender: str) -> dict[str, Any]:
    """A notify.v1 that is the same however often the step is tried."""
    return _notify(letter(intent, step.kind, sender, person.channel), person, f"{intent.id}:{intent.position}")


def completion_envelope(intent: Intent, person: Person, sender: str) -> dict[str, Any]:
    return _notify(answer_letter(intent, sender), person, f"{intent.id}:completion")


def _notify(written: Letter, person: Person, key: str) -> dict[str, Any]:
    delivery = {
        "intent": "send",
        "channel": person.channel,
        "recipient": person.address,
        "message": written.text,
    }
    if person.channel == "email":
        delivery["subject"] = written.subject
    return {
        "schema_version": NOTIFY_V1,
        "origin_butler": ORIGIN,
        "delivery": delivery,
        "idempotency_key": key,
    }


def butler_route(intent: Intent, received_at: str) -> dict[str, Any]:
    """What was said goes as the prompt, who said it as the sender: text stays data on both."""
    return {
        "schema_version": ROUTE_V1,
        "request_context": {
            "request_id": intent.id,
            "received_at": received_at,
            "source_channel": "mcp",
            "source_endpoint_identity": "gateway",
            "source_sender_identity": intent.from_agent,
        },
        "input": {
            "prompt": intent.text,
            "context": {
                "intent_id": intent.id,
                "correlation_id": intent.correlation_id,
                "intent_type": intent.intent_type,
                "from_agent": intent.from_agent,
                "context": intent.payload.get("context"),
                "how_to_answer": "The last thing you say is given to the asker as your answer.",
            },
        },
    }


def butler_answer(result: Mapping[str, Any], agent: str, now: str) -> dict[str, Any]:
    """Whatever a butler's session said, as the payload of a reply."""
    said = next((str(result[name]) for name in ("answer", "output", "text", "message") if result.get(name)), "done")
    return {"answer": said[:5000], "status": "answered", "responded_by": agent, "responded_at": now}
