"""A receiver of webhooks in the installed suite."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from tests.contract.troubles import http_troubles

from postroom.channels.webhook.channel import Webhook, WebhookCall
from postroom.kernel.values.errors import TargetUnavailable, ValidationError
from postroom.testing import (
    FILES,
    TEXT,
    Case,
    HttpWords,
    Place,
    Proofs,
    Reply,
    Situation,
    TakenRequest,
    raw_reply,
    reply,
)

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECRET = "whsec_Y2FuYXJ5LXNlY3JldC1vZi0yNC1ieXRlcw=="
PATH = "canary-path"
NO_NUMBER = "a receiver of webhooks names the wait in Retry-After only"
QUIET = ("subject", "thread", "emoji", "buttons", "revises")


def ticking() -> Callable[[], datetime]:
    """A clock that goes on with every look at it, as a real one does between two attempts."""
    seconds = count()
    return lambda: NOW + timedelta(seconds=next(seconds))


def connect(place: Place) -> Webhook:
    return Webhook("webhook", f"{place.url}/{PATH}?key={PATH}", SECRET, allow_private=True, files=FILES, now=ticking())


def error(status: int, words: str = f"no: {TEXT}, {SECRET}") -> Reply:
    return reply(status, {"error": words})


def data(part: WebhookCall) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(part.body)["data"]
    return told


def sent(taken: TakenRequest) -> dict[str, Any]:
    told: dict[str, Any] = taken.body["data"]
    return told


OWN = [
    Situation(id="accepted/no content", script=raw_reply(204, b"")),
    Situation(id="accepted/edit", script=raw_reply(202, b""), editing=True),
    *(
        Situation(id=f"message_refused/{status}", script=error(status), raises=ValidationError)
        for status in (405, 409, 413, 415, 422)
    ),
    Situation(id="recipient_refused/404", script=error(404), raises=ValidationError),
    Situation(id="recipient_refused/410", script=error(410), raises=ValidationError),
    Situation(id="credentials_refused/403", script=error(403), raises=TargetUnavailable),
    *http_troubles(reads_answers=False),
]

OPTIONS = {"url": "https://example.org/hook"}
"""As a household would set an account."""
THREAD = "their-17"
CASE = Case(
    name="webhook",
    connect=connect,
    words=HttpWords(
        accepted=lambda number: reply(200, {"id": f"their-{number}"}),
        refused=lambda words: error(400, words),
        credentials=error(401),
        throttled=error(429),
        missing_id=reply(200, {"state": "queued"}),
        by_status=True,
    ),
    address="kitchen display",
    not_an_address="two\nlines",
    visible=lambda part: str(data(part)["message"]),
    mentions=lambda part: [name for name in QUIET if data(part)[name]],
    secrets=[SECRET, SECRET.removeprefix("whsec_"), PATH],
    now=lambda: NOW,
    changing_headers=frozenset({"webhook-timestamp", "webhook-signature"}),
    proofs=Proofs(
        dedupes=lambda taken: str(taken.headers["webhook-id"]),
        edits=lambda taken: str(sent(taken)["revises"]["ids"][0]),
        deletes=lambda taken: str(sent(taken)["revises"]["ids"][0]) if sent(taken)["message"] is None else "",
        reacts=lambda taken: str(sent(taken)["emoji"]),
        replies=lambda taken: str(sent(taken)["thread"]),
        files=lambda provider: [
            (one["name"], b64decode(one["data"])) for taken in provider.messages for one in sent(taken)["attachments"]
        ],
    ),
    more=OWN,
    not_applicable={
        "throttled-float": NO_NUMBER,
        "throttled-milliseconds": NO_NUMBER,
        "throttled-otherwise": "a receiver of webhooks says 429 when it means that",
        "error-inside": "a receiver of webhooks says every error by its status",
        "swollen": "the status alone says that the message was taken; what is read of the rest has an end",
    },
)
