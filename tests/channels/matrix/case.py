"""Matrix in the installed suite, by the shapes its specification gives."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

from tests.channels.matrix.person import PERSON, ROOM, Homeserver, event_named, person_on
from tests.contract.troubles import http_troubles

from postroom.channels.matrix.building import MatrixCall
from postroom.channels.matrix.channel import Matrix
from postroom.kernel.values.errors import (
    OutcomeUncertain,
    PostroomError,
    ProviderThrottled,
    TargetUnavailable,
    ValidationError,
)
from postroom.message.delivery import Receipt
from postroom.testing import TEXT, Case, HttpWords, Place, Proofs, Reply, Situation, TakenRequest, raw_reply, reply

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
TOKEN = "syt_cG9zdHJvb20_canaryaccesstoken_0000"


def connect(place: Place) -> Matrix:
    return Matrix("matrix", place.url, TOKEN, now=lambda: NOW)


def accepted(number: int) -> Reply:
    return reply(200, {"event_id": event_named(number)})


def refused(status: int, code: str, words: str = "no", *, headers: str = "", **more: object) -> Reply:
    return reply(status, {"errcode": code, "error": words, **more}, headers=headers)


def content(part: MatrixCall) -> dict[str, Any]:
    return dict(part.content.get("m.new_content", part.content))


def mentions(part: MatrixCall) -> list[str]:
    """Words mention nobody, and are read as HTML only where it says so."""
    shown = content(part)
    calling = [] if shown["m.mentions"] == {} else [str(shown["m.mentions"])]
    return [*calling, *([shown["formatted_body"]] if "format" in shown else [])]


def parts_of(taken: TakenRequest) -> list[str]:
    return [unquote(one) for one in taken.path.removeprefix("/_matrix/client/v3/").split("/")]


def related(name: str) -> Any:
    return lambda taken: str(taken.body["m.relates_to"][name])


def answered(taken: TakenRequest) -> str:
    return str(taken.body["m.relates_to"]["m.in_reply_to"]["event_id"])


_NEVER = [(403, "M_FORBIDDEN"), (404, "M_NOT_FOUND"), (413, "M_TOO_LARGE"), (400, "M_BAD_JSON")]
_NOT_NOW: list[tuple[str, Reply, type[PostroomError]]] = [
    ("user locked", refused(403, "M_USER_LOCKED"), TargetUnavailable),
    ("server full", refused(403, "M_RESOURCE_LIMIT_EXCEEDED"), TargetUnavailable),
    ("no homeserver", raw_reply(404, b"<html>nginx</html>"), TargetUnavailable),
    ("wrong path", refused(404, "M_UNRECOGNIZED"), TargetUnavailable),
]
OWN = [
    *(Situation(id=f"refused/{code}", script=refused(status, code), raises=ValidationError) for status, code in _NEVER),
    *http_troubles(),
    *(Situation(id=f"not now/{name}", script=script, raises=raises) for name, script, raises in _NOT_NOW),
    Situation(id="refused/token quoted", script=refused(400, "M_UNKNOWN", f"{TOKEN}?"), raises=ValidationError),
    Situation(id="refused/quoted back", script=refused(400, "M_UNKNOWN", f"no: {TEXT}"), raises=ValidationError),
    Situation(
        id="throttled/header beside milliseconds",
        script=refused(429, "M_LIMIT_EXCEEDED", retry_after_ms=2_500, headers="Retry-After: 9\r\n"),
        raises=ProviderThrottled,
        retry_after_seconds=2.5,
    ),
    Situation(id="accepted/no event", script=reply(200, {"event_id": "nonsense"}), raises=OutcomeUncertain),
    Situation(id="edit/accepted", script=accepted(1), editing=True),
    Situation(id="edit/refused", script=refused(403, "M_FORBIDDEN"), raises=ValidationError, editing=True),
]
OPTIONS = {"homeserver": "https://matrix.example.org", "token": TOKEN}
"""As a household would set an account."""
THREAD = event_named(55)
CASE = Case(
    name="matrix",
    connect=connect,
    words=HttpWords(
        accepted=accepted,
        refused=lambda words: refused(403, "M_FORBIDDEN", words),
        credentials=refused(401, "M_UNKNOWN_TOKEN", "Invalid access token passed."),
        throttled=refused(429, "M_LIMIT_EXCEEDED", "Too Many Requests"),
        throttled_milliseconds=lambda wait: refused(429, "M_LIMIT_EXCEEDED", retry_after_ms=wait),
        throttled_otherwise=refused(403, "M_LIMIT_EXCEEDED", retry_after_ms=1_000),
        error_inside=reply(200, {"errcode": "M_UNKNOWN", "error": "no"}),
        missing_id=reply(200, {}),
        aside=Homeserver().answer,
    ),
    address=PERSON,
    not_an_address="#kitchen:example.org",
    visible=lambda part: str(content(part)["body"]),
    mentions=mentions,
    secrets=[TOKEN, "canaryaccesstoken"],
    thread=THREAD,
    sent=Receipt(event_named(77), conversation=ROOM),
    now=lambda: NOW,
    proofs=Proofs(
        dedupes=lambda taken: parts_of(taken)[-1],
        edits=related("event_id"),
        deletes=lambda taken: parts_of(taken)[3],
        reacts=related("key"),
        replies=answered,
    ),
    person=person_on(connect),
    more=OWN,
    not_applicable={
        "throttled-float": "a homeserver counts milliseconds",
        "inbound/presses": "nothing on Matrix can be pressed",
    },
)
