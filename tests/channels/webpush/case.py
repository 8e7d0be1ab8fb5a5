"""A push service in the installed suite; what it was sent is read with the browser's own key."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count

from tests.channels.webpush.browser_side import BrowserSide, new_browser
from tests.channels.webpush.kept_devices import KeptDevices
from tests.contract.troubles import http_troubles

from postroom.channels.webpush.channel import PushCall, WebPush, identity, topic_of
from postroom.kernel.values.errors import TargetUnavailable, ValidationError
from postroom.testing import (
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
from postroom.testing.case import DELIVERY

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
DEVICE = "0123456789abcdef"
SECRET_PATH = "canary-endpoint"
SEED = b"canary-seed-of-the-household-key"
SENT = "77"
NO_NUMBER = "a push service names the wait in Retry-After only"
MORE_THAN_TEXT = ("actions", "press", "silent", "icon", "image")


def browser(place: Place) -> BrowserSide:
    return new_browser(f"{place.url}/push/{SECRET_PATH}")


READER = browser(Place(port=1))


def ticking() -> Callable[[], datetime]:
    seconds = count()
    return lambda: NOW + timedelta(seconds=next(seconds))


def connect(place: Place) -> WebPush:
    devices = KeptDevices({DEVICE: browser(place).subscription})
    who = identity("mailto:household@example.org", SEED)
    return WebPush("webpush", who, devices, allow_private=True, now=ticking())


def error(status: int, words: str = f"no: {TEXT}, {SECRET_PATH}") -> Reply:
    return reply(status, {"reason": words})


def edited(taken: TakenRequest) -> str:
    """A device replaces what it shows under the same tag, and the service what it has under the same topic."""
    named = READER.shown(taken.content)["tag"]
    return SENT if named == taken.headers["topic"] == topic_of(DELIVERY) else ""


def pressed(taken: TakenRequest) -> list[str]:
    return [one["token"] for one in READER.shown(taken.content)["actions"]]


def more_than_text(part: PushCall) -> list[str]:
    return [name for name in MORE_THAN_TEXT if name in part.shown]


def visible(part: PushCall) -> str:
    return str(part.shown["body"])


OWN: list[Situation] = [
    Situation(id="accepted/edit", script=raw_reply(201, b""), editing=True),
    Situation(id="accepted/200", script=raw_reply(200, b"")),
    Situation(id="accepted/without a name", script=raw_reply(201, b"")),
    *(Situation(id=f"message_refused/{status}", script=error(status), raises=ValidationError) for status in (400, 413)),
    *(
        Situation(id=f"recipient_refused/{status}", script=error(status), raises=ValidationError)
        for status in (404, 410)
    ),
    Situation(id="credentials_refused/403", script=error(403, "BadJwtToken"), raises=TargetUnavailable),
    *http_troubles(reads_answers=False),
]


def taken_as(number: int) -> Reply:
    return raw_reply(201, b"", headers=f"Location: https://push.example.org/m/their-{number}\r\n")


OPTIONS = {"contact": "mailto:us@example.org"}
"""As a household would set an account."""
THREAD = "their-17"
CASE = Case(
    name="webpush",
    connect=connect,
    words=HttpWords(
        accepted=taken_as,
        refused=lambda words: error(400, words),
        credentials=error(401),
        throttled=error(429),
        missing_id=raw_reply(201, b""),
        by_status=True,
    ),
    address=DEVICE,
    not_an_address="ada@example.org",
    visible=visible,
    mentions=more_than_text,
    secrets=[SECRET_PATH, SEED.decode()],
    now=lambda: NOW,
    changing_headers=frozenset({"authorization"}),
    proofs=Proofs(dedupes=lambda taken: str(taken.headers["topic"]), edits=edited, buttons=pressed),
    more=OWN,
    not_applicable={
        "throttled-float": NO_NUMBER,
        "throttled-milliseconds": NO_NUMBER,
        "throttled-otherwise": "a push service says 429 when it means that",
        "error-inside": "a push service says every error by its status",
        "swollen": "the status alone says that the message was taken; what is read of the rest has an end",
        "property/nothing-lost": "a notification is short: a longer text is cut, says so, and is whole on its page",
        "property/same-again": "each call is encrypted anew, so no two are alike; the topic and what it shows are",
    },
)
