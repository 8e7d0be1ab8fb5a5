"""Discord in every situation a channel can meet, by the shapes its documentation gives."""

from __future__ import annotations

from datetime import UTC, datetime

from tests.contract.bot_api import BotApi, Reply, Trouble, raw_reply, reply
from tests.contract.situations import Case, Situation

from postroom.domain.errors import (
    OutcomeUncertain,
    PostroomError,
    ProviderFailed,
    ProviderThrottled,
    TargetUnavailable,
    ValidationError,
)
from postroom.world.channels.discord.channel import Discord

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
TEXT = "the kettle is on and nobody is watching it"
TOKEN = "MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.canary-bot-token"
ACCEPTED = reply(200, {"id": "334385199974967042", "channel_id": "290926798999357250", "content": TEXT})


class DiscordApi(BotApi):
    """Takes messages as JSON, as the Bot API does; only its answers are others."""

    def __init__(self) -> None:
        super().__init__()
        self.script = [ACCEPTED]


def refused(status: int, code: int, message: str = "no", *, headers: str = "", **more: object) -> Reply:
    return reply(status, {"code": code, "message": message, **more}, headers=headers)


def limited(retry_after: float, *, scope: str = "user", is_global: bool = False, **more: object) -> Reply:
    headers = f"Retry-After: {int(retry_after) + 1}\r\nX-RateLimit-Scope: {scope}\r\n"
    told = {"message": "You are being rate limited.", "retry_after": retry_after, "global": is_global, **more}
    return reply(429, told, headers=headers)


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
    ("unavailable/500", refused(500, 0), ProviderFailed),
    ("unavailable/502", raw_reply(502, b"<html>bad gateway</html>"), ProviderFailed),
    ("unavailable/503", refused(503, 0), TargetUnavailable),
    ("unavailable/504", raw_reply(504, b""), ProviderFailed),
    ("unavailable/overloaded", refused(503, 130000), TargetUnavailable),
    ("unavailable/turned off", refused(403, 40004), TargetUnavailable),
    ("unavailable/the wall", raw_reply(403, b"<html>error code: 1020</html>"), TargetUnavailable),
    (
        "unavailable/redirect",
        raw_reply(302, b"", headers="Location: http://127.0.0.1:1/elsewhere\r\n"),
        TargetUnavailable,
    ),
    (
        "unavailable/explanation cut off",
        Reply(raw=b"HTTP/1.1 503 X\r\nContent-Length: 500\r\n\r\n{", close=True),
        TargetUnavailable,
    ),
]

SITUATIONS = [
    Situation(id="accepted", script=ACCEPTED),
    Situation(id="slow", script=reply(200, {"id": "334385199974967042"}, hold=True), held=True),
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
        for status, code in ((401, 0), (403, 40001), (403, 50014), (403, 40333))
    ),
    *(
        Situation(id=name, script=script, raises=ProviderThrottled, retry_after_seconds=wait)
        for name, script, wait in _THROTTLED
    ),
    *(Situation(id=name, script=script, raises=raises) for name, script, raises in _UNAVAILABLE),
    Situation(id="reset_before_reading", script=Trouble.RESET_BEFORE_READING, raises=OutcomeUncertain, taken=0),
    Situation(id="hang", script=Trouble.READ_THEN_HANG, raises=OutcomeUncertain, timeout_seconds=1.0),
    Situation(id="accepted_then_cut/reset", script=Trouble.READ_THEN_RESET, raises=OutcomeUncertain),
    Situation(id="accepted_then_cut/closed", script=Trouble.READ_THEN_CLOSE, raises=OutcomeUncertain),
    Situation(
        id="accepted_then_cut/inside the answer",
        script=Reply(raw=b'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"id":"3', close=True),
        raises=OutcomeUncertain,
    ),
    Situation(id="garbage/not HTTP", script=Reply(raw=b"\x00\x01 hello\r\n\r\n", close=True), raises=OutcomeUncertain),
    Situation(id="garbage/not JSON", script=raw_reply(200, b"<html>ok</html>"), raises=OutcomeUncertain),
    Situation(id="garbage/not an object", script=raw_reply(200, b"[1]"), raises=OutcomeUncertain),
    Situation(id="garbage/deeply nested", script=raw_reply(200, b"[" * 100_000), raises=OutcomeUncertain),
    Situation(id="garbage/no message id", script=reply(200, {"id": None}), raises=OutcomeUncertain),
    *(
        Situation(id=f"{what}/edit", script=script, raises=raises, retry_after_seconds=wait, editing=True)
        for what, script, raises, wait in (
            ("accepted", ACCEPTED, None, None),
            ("message_refused", refused(404, 10008), ValidationError, None),
            ("message_refused", refused(403, 50005), ValidationError, None),
            ("throttled", refused(429, 30046, retry_after=3.5), ProviderThrottled, 3.5),
            ("unavailable", refused(502, 0), ProviderFailed, None),
            ("accepted_then_cut", Trouble.READ_THEN_RESET, OutcomeUncertain, None),
            ("garbage", raw_reply(200, b"<html>ok</html>"), OutcomeUncertain, None),
        )
    ),
]

CASE = Case(
    name="discord",
    provider=DiscordApi,
    connect=lambda port: Discord("discord", TOKEN, f"http://127.0.0.1:{port}/api/v10", now=lambda: NOW),
    address="290926798999357250",
    not_an_address="ada@example.org",
    text=TEXT,
    secrets=[TOKEN, "canary-bot-token"],
    edits=True,
    situations=SITUATIONS,
)
