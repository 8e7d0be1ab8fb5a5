"""Discord in the installed suite, by the shapes its documentation gives."""

from __future__ import annotations

from datetime import UTC, datetime
from urllib.parse import unquote

from tests.channels.discord.as_shown import markup, seen
from tests.channels.discord.person import DIRECT, PERSON, person_on
from tests.contract.form_files import form_files
from tests.contract.troubles import http_troubles

from postroom.channels.discord.building import DiscordRequest
from postroom.channels.discord.channel import Discord
from postroom.kernel.values.errors import (
    OutcomeUncertain,
    PostroomError,
    ProviderFailed,
    ProviderThrottled,
    TargetUnavailable,
    ValidationError,
)
from postroom.message.delivery import Receipt
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
    Trouble,
    raw_reply,
    reply,
)

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
TOKEN = "MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.canary-bot-token"
FIRST = 334385199974967042
ONCE = "Discord brings an event once to a session, and to a new session nothing of before"


def connect(place: Place) -> Discord:
    return Discord("discord", TOKEN, f"{place.url}/api/v10", files=FILES, now=lambda: NOW)


def accepted(number: int) -> Reply:
    return reply(200, {"id": str(FIRST + number), "channel_id": DIRECT, "content": TEXT})


def refused(status: int, code: int, message: str = "no", *, headers: str = "", **more: object) -> Reply:
    return reply(status, {"code": code, "message": message, **more}, headers=headers)


def limited(retry_after: float, *, scope: str = "user", is_global: bool = False, **more: object) -> Reply:
    headers = f"Retry-After: {int(retry_after) + 1}\r\nX-RateLimit-Scope: {scope}\r\n"
    told = {"message": "You are being rate limited.", "retry_after": retry_after, "global": is_global, **more}
    return reply(429, told, headers=headers)


def opened(request: TakenRequest) -> Reply | None:
    """Before anything is written to a person, their direct channel is asked for."""
    if not request.path.endswith("/users/@me/channels"):
        return None
    return reply(200, {"id": DIRECT, "type": 1})


def content(part: DiscordRequest) -> str:
    return str((part.body or {})["content"])


def mentions(part: DiscordRequest) -> list[str]:
    allowed = (part.body or {})["allowed_mentions"]
    return markup(content(part)) + [str(allowed)] * (allowed != {"parse": [], "replied_user": False})


def tokens(taken: TakenRequest) -> list[str]:
    return [key["custom_id"] for row in taken.body["components"] for key in row["components"]]


def key(taken: TakenRequest) -> str:
    """Discord looks at it only when it is asked to."""
    return str(taken.body["nonce"]) if taken.body["enforce_nonce"] is True else ""


def emoji(taken: TakenRequest) -> str:
    return unquote(taken.path.partition("/reactions/")[2].partition("/")[0])


def answered(taken: TakenRequest) -> str:
    return str(taken.body["message_reference"]["message_id"])


def deleted(taken: TakenRequest) -> str:
    return taken.path.rpartition("/")[2] if taken.method == "DELETE" else ""


_NEVER = [
    ("recipient_refused", 404, 10003),
    ("recipient_refused", 404, 10008),
    ("recipient_refused", 403, 50001),
    ("recipient_refused", 403, 50007),
    ("recipient_refused", 403, 50013),
    ("recipient_refused", 403, 50278),
    ("message_refused", 400, 50006),
    ("message_refused", 400, 50035),
    ("message_refused", 413, 40005),
    ("message_refused", 400, 240000),
    ("message_refused", 405, 0),
]
_FORM_ERRORS = {"content": {"_errors": [{"code": "BASE_TYPE_MAX_LENGTH", "message": f"too long: {TEXT}"}]}}
_THROTTLED: list[tuple[str, Reply, float]] = [
    ("throttled/on this route", limited(1.337), 1.337),
    ("throttled/the whole bot", limited(64.57, scope="global", is_global=True), 64.57),
    ("throttled/this channel for all", limited(1336.57, scope="shared"), 1336.57),
    ("throttled/slow mode", limited(4.2, code=20016), 4.2),
    ("throttled/slow mode as another status", refused(403, 20016), 5.0),
    ("throttled/writing in the channel", refused(400, 20028, retry_after=7.5), 7.5),
    ("throttled/direct messages", refused(400, 40003), 60.0),
    ("throttled/header only", raw_reply(429, b"slow down", headers="Retry-After: 9\r\n"), 9.0),
    ("throttled/by the wall", raw_reply(429, b"<html>error code: 1015</html>"), 60.0),
    ("throttled/for years", limited(1e9), 3600.0),
]
_UNAVAILABLE: list[tuple[str, Reply, type[PostroomError]]] = [
    ("unavailable/overloaded", refused(503, 130000), TargetUnavailable),
    ("unavailable/turned off", refused(403, 40004), TargetUnavailable),
    ("unavailable/the wall", raw_reply(403, b"<html>error code: 1020</html>"), TargetUnavailable),
]

OWN = [
    *(
        Situation(id=f"{what}/{status} {code}", script=refused(status, code), raises=ValidationError)
        for what, status, code in _NEVER
    ),
    Situation(
        id="message_refused/quoted back",
        script=refused(400, 50035, f"no: {TEXT}", errors=_FORM_ERRORS),
        raises=ValidationError,
    ),
    Situation(id="message_refused/token quoted", script=refused(400, 0, f"Bot {TOKEN}?"), raises=ValidationError),
    Situation(id="message_refused/without a body", script=raw_reply(400, b""), raises=ValidationError),
    *(
        Situation(id=f"credentials_refused/{status} {code}", script=refused(status, code), raises=TargetUnavailable)
        for status, code in ((403, 40001), (403, 50014), (403, 40333))
    ),
    *(
        Situation(id=name, script=script, raises=ProviderThrottled, retry_after_seconds=wait)
        for name, script, wait in _THROTTLED
    ),
    *(Situation(id=name, script=script, raises=raises) for name, script, raises in _UNAVAILABLE),
    *http_troubles(),
    *(
        Situation(id=f"{what}/edit", script=script, raises=raises, retry_after_seconds=wait, editing=True)
        for what, script, raises, wait in (
            ("accepted", accepted(1), None, None),
            ("message_refused", refused(404, 10008), ValidationError, None),
            ("message_refused", refused(403, 50005), ValidationError, None),
            ("throttled", refused(429, 30046, retry_after=3.5), ProviderThrottled, 3.5),
            ("unavailable", refused(502, 0), ProviderFailed, None),
            ("accepted_then_cut", Trouble.READ_THEN_RESET, OutcomeUncertain, None),
            ("garbage", raw_reply(200, b"<html>ok</html>"), OutcomeUncertain, None),
        )
    ),
]

OPTIONS = {"bot_token": TOKEN}
"""As a household would set an account."""
THREAD = "55"
CASE = Case(
    name="discord",
    connect=connect,
    words=HttpWords(
        accepted=accepted,
        refused=lambda words: refused(400, 0, words),
        credentials=refused(401, 0, "401: Unauthorized"),
        throttled=reply(429, {"message": "You are being rate limited.", "global": False}),
        throttled_float=limited,
        throttled_otherwise=refused(403, 20016),
        missing_id=reply(200, {"id": None}),
        aside=opened,
    ),
    address=f"user:{PERSON}",
    not_an_address="ada@example.org",
    visible=lambda part: seen(content(part)),
    counted=content,
    mentions=mentions,
    secrets=[TOKEN, "canary-bot-token"],
    sent=Receipt("77", conversation=DIRECT),
    now=lambda: NOW,
    proofs=Proofs(
        dedupes=key,
        edits=lambda taken: taken.path.rpartition("/")[2],
        deletes=deleted,
        buttons=tokens,
        reacts=emoji,
        replies=answered,
        threads=answered,
        files=form_files,
    ),
    person=person_on(connect),
    more=OWN,
    not_applicable={
        "throttled-milliseconds": "Discord counts seconds",
        "error-inside": "Discord says every error by its status",
        "inbound/acknowledging": ONCE,
        "inbound/restart": ONCE,
    },
)
