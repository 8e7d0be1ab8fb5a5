"""notify.v1 envelopes for tests: good ones, and ways to spoil them."""

from __future__ import annotations

import copy
import random
from typing import Any

from postroom.butlers.wire import messenger_route, notify_request

CONTEXT = {
    "request_id": "inbound-1",
    "source_channel": "telegram",
    "source_endpoint_identity": "bot:postroom",
    "source_sender_identity": "1000",
    "source_thread_identity": "1000:55",
    "received_at": "2026-01-01T08:00:00Z",
}
SEND = {
    "schema_version": "notify.v1",
    "origin_butler": "health",
    "delivery": {"intent": "send", "channel": "telegram", "message": "Hello", "recipient": "1000"},
}
MAIL = {
    "schema_version": "notify.v1",
    "origin_butler": "general",
    "delivery": {"intent": "send", "channel": "email", "message": "Hi", "subject": "News", "recipient": "a@b.example"},
    "idempotency_key": "news-7",
    "priority": "low",
    "on_uncertain": "hold",
}
REPLY = {
    "schema_version": "notify.v1",
    "origin_butler": "health",
    "delivery": {"intent": "reply", "channel": "telegram", "message": "Yes"},
    "request_context": CONTEXT,
}
REACT = {
    "schema_version": "notify.v1",
    "origin_butler": "health",
    "delivery": {"intent": "react", "channel": "telegram", "emoji": "👍"},
    "request_context": CONTEXT,
}
GOOD: dict[str, dict[str, Any]] = {"send": SEND, "mail": MAIL, "reply": REPLY, "react": REACT}

STRANGE: list[Any] = [
    None,
    True,
    0,
    -1,
    1.5,
    10**30,
    "",
    " ",
    "\t\n",
    "\x1c",
    "\ufeff",
    "\x00",
    "a\x00b",
    "line\nbreak",
    "x" * 33,
    "x" * 65,
    "x" * 129,
    "x" * 201,
    "x" * 321,
    "x" * 501,
    "x" * 1001,
    "x" * 100_001,
    [],
    ["Hello"],
    {},
    {"a": {"b": 1}},
    "telegram",
    "email",
    "sms",
    "send",
    "reply",
    "react",
    "SEND",
    "notify.v2",
    "high",
    "hold",
    "1000:55",
    " 1000:55 ",
    "@ann:7",
    "1000:",
    "1000:-5",
    "١٠٠٠:٥٥",
    "2026-02-30T00:00:00Z",
    "2026-01-01T00:00:00",
    "2026-01-01t00:00:00.5+02:00",
    "2026-01-01",
    "20260101T000000Z",
    "2026-01-01T23:59:60Z",
    "0000-01-01T00:00:00Z",
    "👍",
]
NAMES = [
    "schema_version",
    "origin_butler",
    "delivery",
    "request_context",
    "priority",
    "message",
    "emoji",
    "recipient",
    "subject",
    "__proto__",
    "delivery.intent",
    "Ünïcode",
    "",
]


def notify_route(envelope: dict[str, Any], request_id: str = "r-1") -> dict[str, Any]:
    """As the switchboard hands it to the messenger."""
    work, received_at = notify_request(envelope), "2026-01-01T00:00:00Z"
    return messenger_route(work, request_id=request_id, received_at=received_at, sender=envelope["origin_butler"])


def spoiled(dice: random.Random) -> Any:
    """A good envelope with one to three things changed: dropped, added, exchanged, nested or replaced whole."""
    if dice.random() < 0.02:
        return copy.deepcopy(dice.choice(STRANGE))
    envelope = copy.deepcopy(dice.choice(list(GOOD.values())))
    for _ in range(dice.randint(1, 3)):
        _spoil(dice.choice(_objects(envelope)), dice)
    return envelope


def _objects(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, dict):
        return []
    return [value, *(inner for one in value.values() for inner in _objects(one))]


def _spoil(where: dict[str, Any], dice: random.Random) -> None:
    match dice.randrange(4):
        case 0 if where:
            del where[dice.choice(list(where))]
        case 1:
            where[dice.choice(NAMES)] = copy.deepcopy(dice.choice(STRANGE))
        case _ if where:
            where[dice.choice(list(where))] = copy.deepcopy(dice.choice(STRANGE))
        case _:
            where["a"] = 1
