"""Slack in every situation a channel can meet; most refusals come with a 200."""

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
from postroom.world.channels.slack.channel import Slack

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
TEXT = "the kettle is on and nobody is watching it"
BOT_TOKEN = "xoxb-4242-canary-bot-token"
APP_TOKEN = "xapp-4242-canary-app-token"
ACCEPTED = reply(200, {"ok": True, "channel": "C024BE91L", "ts": "1700000000.000100"})
ECHO = f"no: {BOT_TOKEN} said {TEXT}"


class SlackServer(BotApi):
    """Takes calls as JSON, as the Bot API does; only its answers are others."""

    def __init__(self) -> None:
        super().__init__()
        self.script = [ACCEPTED]


def _no(error: str, *, status: int = 200, headers: str = "", **more: object) -> Reply:
    return reply(status, {"ok": False, "error": error, **more}, headers=headers)


def _each(kind: str, raises: type[PostroomError], *codes: str) -> list[Situation]:
    return [Situation(id=f"{kind}/{code}", script=_no(code), raises=raises) for code in codes]


def _editing(kind: str, script: Reply | Trouble, raises: type[PostroomError] | None) -> Situation:
    return Situation(id=f"{kind}/edit", script=script, raises=raises, editing=True)


CASE = Case(
    name="slack",
    provider=SlackServer,
    connect=lambda port: Slack("slack", BOT_TOKEN, APP_TOKEN, f"http://127.0.0.1:{port}/api", now=lambda: NOW),
    address="C024BE91L",
    not_an_address="#general",
    text=TEXT,
    secrets=[BOT_TOKEN, APP_TOKEN, "canary"],
    edits=True,
    situations=[
        Situation(id="accepted", script=ACCEPTED),
        Situation(id="slow", script=reply(200, {"ok": True, "ts": "1.2"}, hold=True), held=True),
        *_each("message_refused", ValidationError, "msg_too_long", "no_text", "invalid_blocks", "msg_blocks_too_long"),
        *_each("message_refused", ValidationError, "a_code_of_tomorrow", ECHO),
        Situation(id="message_refused/without a code", script=reply(200, {"ok": False}), raises=ValidationError),
        Situation(id="message_refused/400", script=raw_reply(400, b""), raises=ValidationError),
        *_each("recipient_refused", ValidationError, "channel_not_found", "not_in_channel", "is_archived"),
        *_each("recipient_refused", ValidationError, "user_not_found", "messages_tab_disabled"),
        *_each("credentials_refused", TargetUnavailable, "invalid_auth", "not_authed", "token_revoked"),
        *_each("credentials_refused", TargetUnavailable, "token_expired", "account_inactive", "missing_scope"),
        Situation(id="credentials_refused/401", script=_no("invalid_auth", status=401), raises=TargetUnavailable),
        *(
            Situation(
                id=f"throttled/{what}",
                script=_no("ratelimited", status=status, headers=headers),
                raises=ProviderThrottled,
                retry_after_seconds=seconds,
            )
            for what, status, headers, seconds in (
                ("with a header", 429, "Retry-After: 30\r\n", 30.0),
                ("in a 200", 200, "Retry-After: 7\r\n", 7.0),
                ("without a word", 429, "", 1.0),
                ("until the year 9999", 429, "Retry-After: Fri, 31 Dec 9999 23:59:59 GMT\r\n", 3600.0),
            )
        ),
        Situation(
            id="throttled/not JSON", script=raw_reply(429, b"slow"), raises=ProviderThrottled, retry_after_seconds=1.0
        ),
        Situation(id="unavailable/503", script=_no("service_unavailable", status=503), raises=TargetUnavailable),
        Situation(id="unavailable/in a 200", script=_no("service_unavailable"), raises=TargetUnavailable),
        *(
            Situation(id=f"unavailable/{status}", script=raw_reply(status, b"<html>"), raises=ProviderFailed)
            for status in (500, 502, 504)
        ),
        Situation(
            id="unavailable/redirect",
            script=raw_reply(302, b"", headers="Location: http://127.0.0.1:1/elsewhere\r\n"),
            raises=TargetUnavailable,
        ),
        Situation(id="reset_before_reading", script=Trouble.RESET_BEFORE_READING, raises=OutcomeUncertain, taken=0),
        Situation(id="hang", script=Trouble.READ_THEN_HANG, raises=OutcomeUncertain, timeout_seconds=1.0),
        Situation(id="accepted_then_cut/reset", script=Trouble.READ_THEN_RESET, raises=OutcomeUncertain),
        Situation(id="accepted_then_cut/closed", script=Trouble.READ_THEN_CLOSE, raises=OutcomeUncertain),
        *_each("accepted_then_cut", OutcomeUncertain, "fatal_error", "internal_error"),
        Situation(
            id="accepted_then_cut/fatal in a 500", script=_no("fatal_error", status=500), raises=OutcomeUncertain
        ),
        Situation(id="garbage/not JSON", script=raw_reply(200, b"<html>ok</html>"), raises=OutcomeUncertain),
        Situation(id="garbage/not an object", script=raw_reply(200, b"[1]"), raises=OutcomeUncertain),
        Situation(id="garbage/deeply nested", script=raw_reply(200, b"[" * 100_000), raises=OutcomeUncertain),
        Situation(id="garbage/no ts", script=reply(200, {"ok": True}), raises=OutcomeUncertain),
        _editing("accepted", ACCEPTED, None),
        _editing("message_refused", _no("cant_update_message"), ValidationError),
        _editing("recipient_refused", _no("message_not_found"), ValidationError),
        _editing("accepted_then_cut", Trouble.READ_THEN_RESET, OutcomeUncertain),
        _editing("garbage", raw_reply(200, b"<html>ok</html>"), OutcomeUncertain),
    ],
)
