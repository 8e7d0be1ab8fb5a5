"""The channels that run the suite; a new channel adds its case here."""

from __future__ import annotations

from datetime import UTC, datetime

from tests.contract import discord, ntfy
from tests.contract.bot_api import BotApi, Reply, Trouble, accepted, raw_reply, refused
from tests.contract.mail_server import MailServer, Script
from tests.contract.situations import Case, Situation

from postroom.domain.errors import (
    DeliveryTimeout,
    OutcomeUncertain,
    ProviderFailed,
    ProviderThrottled,
    TargetUnavailable,
    ValidationError,
)
from postroom.world.channels.email import Email
from postroom.world.channels.telegram import Telegram

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
TEXT = "the kettle is on and nobody is watching it"
TOKEN = "4242:canary-bot-token"
PASSWORD = "canary-mail-password"
ECHO = f"no: https://api.telegram.org/bot{TOKEN}/sendMessage said {TEXT}"
SHORT_SECONDS = 0.2
TAKEN_SECONDS = 1.0  # enough for the provider to have read everything, on a busy machine too

_TELEGRAM = [
    Situation(id="accepted", script=accepted()),
    Situation(id="slow", script=accepted(hold=True), held=True),
    Situation(id="message_refused/400", script=refused(400, "message is too long"), raises=ValidationError),
    Situation(id="message_refused/quoted back", script=refused(400, ECHO), raises=ValidationError),
    Situation(id="message_refused/token quoted", script=refused(400, f"bot{TOKEN} is odd"), raises=ValidationError),
    Situation(id="message_refused/422", script=refused(422, "no"), raises=ValidationError),
    Situation(id="message_refused/without a body", script=raw_reply(400, b""), raises=ValidationError),
    Situation(
        id="message_refused/in a 200", script=raw_reply(200, b'{"ok":false,"error_code":400}'), raises=ValidationError
    ),
    Situation(id="recipient_refused/403", script=refused(403, "bot was blocked by the user"), raises=ValidationError),
    Situation(id="recipient_refused/404", script=refused(404, "Not Found"), raises=ValidationError),
    Situation(id="credentials_refused/401", script=refused(401, "Unauthorized"), raises=TargetUnavailable),
    Situation(
        id="throttled/in the body",
        script=refused(429, "Too Many Requests", headers="Retry-After: 9\r\n", parameters={"retry_after": 35}),
        raises=ProviderThrottled,
        retry_after_seconds=35.0,
    ),
    Situation(
        id="throttled/in a header",
        script=refused(429, "Too Many Requests", headers="Retry-After: 9\r\n"),
        raises=ProviderThrottled,
        retry_after_seconds=9.0,
    ),
    Situation(
        id="throttled/until a date",
        script=refused(429, "Too Many Requests", headers="Retry-After: Sun, 01 Mar 2026 12:00:30 GMT\r\n"),
        raises=ProviderThrottled,
        retry_after_seconds=30.0,
    ),
    Situation(
        id="throttled/until the year 9999",
        script=refused(429, "Too Many Requests", headers="Retry-After: Fri, 31 Dec 9999 23:59:59 GMT\r\n"),
        raises=ProviderThrottled,
        retry_after_seconds=3600.0,
    ),
    Situation(
        id="throttled/without a word",
        script=raw_reply(429, b"slow down"),
        raises=ProviderThrottled,
        retry_after_seconds=1.0,
    ),
    *(
        Situation(id=f"unavailable/{status}", script=refused(status, "try later"), raises=raises)
        for status, raises in {
            500: ProviderFailed,
            502: ProviderFailed,
            503: TargetUnavailable,
            504: ProviderFailed,
        }.items()
    ),
    Situation(
        id="unavailable/redirect",
        script=raw_reply(302, b"", headers="Location: http://127.0.0.1:1/elsewhere\r\n"),
        raises=TargetUnavailable,
    ),
    Situation(
        id="unavailable/explanation cut off",
        script=Reply(raw=b"HTTP/1.1 503 X\r\nContent-Length: 500\r\n\r\n{", close=True),
        raises=TargetUnavailable,
    ),
    Situation(id="reset_before_reading", script=Trouble.RESET_BEFORE_READING, raises=OutcomeUncertain, taken=0),
    Situation(id="hang", script=Trouble.READ_THEN_HANG, raises=OutcomeUncertain, timeout_seconds=TAKEN_SECONDS),
    Situation(id="accepted_then_cut/reset", script=Trouble.READ_THEN_RESET, raises=OutcomeUncertain),
    Situation(id="accepted_then_cut/closed", script=Trouble.READ_THEN_CLOSE, raises=OutcomeUncertain),
    Situation(
        id="accepted_then_cut/inside the answer",
        script=Reply(raw=b'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"ok":tr', close=True),
        raises=OutcomeUncertain,
    ),
    Situation(id="garbage/not HTTP", script=Reply(raw=b"\x00\x01 hello\r\n\r\n", close=True), raises=OutcomeUncertain),
    Situation(id="garbage/not JSON", script=raw_reply(200, b"<html>ok</html>"), raises=OutcomeUncertain),
    Situation(id="garbage/not an object", script=raw_reply(200, b"[1]"), raises=OutcomeUncertain),
    Situation(id="garbage/deeply nested", script=raw_reply(200, b"[" * 100_000), raises=OutcomeUncertain),
    Situation(id="garbage/no message id", script=raw_reply(200, b'{"ok":true,"result":{}}'), raises=OutcomeUncertain),
    *(
        Situation(id=f"{what}/edit", script=script, raises=raises, retry_after_seconds=wait, editing=True)
        for what, script, raises, wait in (
            ("accepted", accepted(), None, None),
            ("accepted", refused(400, "Bad Request: message is not modified: it is the same"), None, None),
            ("message_refused", refused(400, "Bad Request: message to edit not found"), ValidationError, None),
            ("message_refused", refused(400, "Bad Request: message can't be edited"), ValidationError, None),
            ("message_refused", refused(400, ECHO), ValidationError, None),
            ("recipient_refused", refused(403, "bot was blocked by the user"), ValidationError, None),
            ("throttled", refused(429, "Slow down", parameters={"retry_after": 3}), ProviderThrottled, 3.0),
            ("unavailable", refused(502, "try later"), ProviderFailed, None),
            ("accepted_then_cut", Trouble.READ_THEN_RESET, OutcomeUncertain, None),
            ("garbage", raw_reply(200, b"<html>ok</html>"), OutcomeUncertain, None),
        )
    ),
]


def _step(name: str, answer: bytes) -> Script:
    return Script(replies={name: answer})


_EMAIL = [
    Situation(id="accepted", script=Script()),
    Situation(id="accepted/then closed without goodbye", script=Script(close_at="QUIT")),
    Situation(id="slow", script=Script(hold_at="BODY"), held=True),
    Situation(id="message_refused/at once", script=_step("DATA", b"554 no"), raises=ValidationError, taken=0),
    Situation(id="message_refused/after reading", script=_step("BODY", b"554 5.7.1 spam"), raises=ValidationError),
    Situation(
        id="message_refused/quoted back",
        script=_step("BODY", f"554 {PASSWORD} and {TEXT}".encode()),
        raises=ValidationError,
    ),
    Situation(id="recipient_refused", script=_step("RCPT", b"550 5.1.1 who?"), raises=ValidationError, taken=0),
    *(
        Situation(
            id=f"credentials_refused/{code} at {step}",
            script=_step(step, f"{code} {PASSWORD} no".encode()),
            raises=TargetUnavailable,
            taken=0,
        )
        for step, code in (("AUTH", 535), ("AUTH", 534), ("AUTH", 538), ("AUTH", 501), ("MAIL", 530))
    ),
    Situation(id="throttled", script=_step("MAIL", b"450 4.7.1 slow down"), raises=TargetUnavailable, taken=0),
    Situation(id="unavailable/greylisted", script=_step("RCPT", b"451 later"), raises=TargetUnavailable, taken=0),
    Situation(id="unavailable/after reading", script=_step("BODY", b"452 full"), raises=TargetUnavailable),
    Situation(id="unavailable/shutting down", script=_step("MAIL", b"421 bye"), raises=TargetUnavailable, taken=0),
    Situation(id="unavailable/421 after reading", script=_step("BODY", b"421 bye"), raises=TargetUnavailable),
    Situation(id="unavailable/at the door", script=_step("CONNECT", b"554 go away"), raises=TargetUnavailable, taken=0),
    Situation(id="reset_before_reading", script=Script(reset_at="CONNECT"), raises=TargetUnavailable, taken=0),
    *(
        Situation(id=f"reset_before_reading/at {step}", script=Script(reset_at=step), raises=TargetUnavailable, taken=0)
        for step in ("EHLO", "AUTH", "MAIL", "RCPT", "DATA")
    ),
    *(
        Situation(
            id=f"hang/at {step}",
            script=Script(hang_at=step),
            raises=DeliveryTimeout,
            taken=0,
            timeout_seconds=SHORT_SECONDS,
        )
        for step in ("CONNECT", "EHLO", "AUTH", "RCPT", "DATA")
    ),
    Situation(
        id="hang/after reading",
        script=Script(hang_at="BODY"),
        raises=OutcomeUncertain,
        timeout_seconds=TAKEN_SECONDS,
    ),
    Situation(id="accepted_then_cut/reset", script=Script(reset_at="BODY"), raises=OutcomeUncertain),
    Situation(id="accepted_then_cut/closed", script=Script(close_at="BODY"), raises=OutcomeUncertain),
    Situation(id="garbage/after reading", script=_step("BODY", b"\xff\xfe what"), raises=OutcomeUncertain),
    Situation(id="garbage/a code that means nothing", script=_step("BODY", b"354 more"), raises=OutcomeUncertain),
    Situation(id="garbage/at the door", script=_step("CONNECT", b"HTTP/1.1 200"), raises=TargetUnavailable, taken=0),
    Situation(id="garbage/before the message", script=_step("DATA", b"250 what"), raises=TargetUnavailable, taken=0),
]

CASES = (
    Case(
        name="telegram",
        provider=BotApi,
        connect=lambda port: Telegram(TOKEN, f"http://127.0.0.1:{port}", now=lambda: NOW),
        address="4711",
        not_an_address="ada@example.org",
        text=TEXT,
        secrets=[TOKEN, TOKEN.partition(":")[2]],
        edits=True,
        situations=_TELEGRAM,
    ),
    Case(
        name="email",
        provider=MailServer,
        connect=lambda port: Email(
            "127.0.0.1", port, "none", "bot@example.org", PASSWORD, "bot@example.org", now=lambda: NOW
        ),
        address="ada@example.org",
        not_an_address="4711",
        text=TEXT,
        secrets=[PASSWORD],
        situations=_EMAIL,
    ),
    ntfy.CASE,
    discord.CASE,
)
