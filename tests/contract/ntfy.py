"""An ntfy server, in every situation a channel can meet."""

from __future__ import annotations

from datetime import UTC, datetime

from tests.contract.bot_api import BotApi, Reply, Trouble, raw_reply, reply
from tests.contract.situations import Case, Situation

from postroom.domain.errors import (
    OutcomeUncertain,
    ProviderFailed,
    ProviderThrottled,
    TargetUnavailable,
    ValidationError,
)
from postroom.world.channels.ntfy.channel import Ntfy

TEXT = "the kettle is on and nobody is watching it"
TOKEN = "tk_canaryaccesstoken0000000000000"
NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
ACCEPTED = reply(200, {"id": "hwQ2YpKdmg12", "time": 1772366400, "expires": 1772409600, "event": "message"})


class NtfyServer(BotApi):
    """Takes messages as JSON, as the Bot API does; only its answers are others."""

    def __init__(self) -> None:
        super().__init__()
        self.script = [ACCEPTED]


def error(code: int, words: str = "no", headers: str = "") -> Reply:
    told = {"code": code, "http": code // 100, "error": words, "link": "https://ntfy.sh/docs"}
    return reply(code // 100, told, headers=headers)


_QUOTED = f"no: {TEXT} with {TOKEN}"

CASE = Case(
    name="ntfy",
    provider=NtfyServer,
    connect=lambda port: Ntfy("ntfy", f"http://127.0.0.1:{port}/in/a/path", TOKEN, "answers", now=lambda: NOW),
    address="kitchen",
    not_an_address="ada@example.org",
    text=TEXT,
    secrets=[TOKEN],
    edits=True,
    situations=[
        Situation(id="accepted", script=ACCEPTED),
        Situation(id="accepted/edit", script=ACCEPTED, editing=True),
        Situation(id="slow", script=reply(200, {"id": "x"}, hold=True), held=True),
        Situation(id="message_refused/400", script=error(40018, "actions invalid"), raises=ValidationError),
        Situation(id="message_refused/quoted back", script=error(40024, _QUOTED), raises=ValidationError),
        Situation(id="message_refused/token quoted", script=error(40024, f"{TOKEN}?"), raises=ValidationError),
        Situation(id="message_refused/413", script=error(41303, "JSON body too large"), raises=ValidationError),
        Situation(id="message_refused/edit", script=error(40000), raises=ValidationError, editing=True),
        Situation(id="recipient_refused/507", script=error(50701, "no subscriber"), raises=ValidationError),
        Situation(id="recipient_refused/404", script=error(40401, "page not found"), raises=ValidationError),
        Situation(id="credentials_refused/401", script=error(40101, "unauthorized"), raises=TargetUnavailable),
        Situation(id="credentials_refused/403", script=error(40301, "forbidden"), raises=TargetUnavailable),
        Situation(id="throttled", script=error(42901), raises=ProviderThrottled, retry_after_seconds=5.0),
        Situation(
            id="throttled/in a header",
            script=error(42901, headers="Retry-After: 7\r\n"),
            raises=ProviderThrottled,
            retry_after_seconds=7.0,
        ),
        Situation(
            id="throttled/until the year 9999",
            script=error(42901, headers="Retry-After: Fri, 31 Dec 9999 23:59:59 GMT\r\n"),
            raises=ProviderThrottled,
            retry_after_seconds=3600.0,
        ),
        Situation(
            id="throttled/for the day", script=error(42908), raises=ProviderThrottled, retry_after_seconds=43_200.0
        ),
        Situation(
            id="throttled/without a word",
            script=raw_reply(429, b"slow down"),
            raises=ProviderThrottled,
            retry_after_seconds=5.0,
        ),
        Situation(id="unavailable/503", script=error(50301), raises=TargetUnavailable),
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
        Situation(id="garbage/not JSON", script=raw_reply(200, b"<html>ok</html>"), raises=OutcomeUncertain),
        Situation(id="garbage/not an object", script=raw_reply(200, b"[1]"), raises=OutcomeUncertain),
        Situation(id="garbage/deeply nested", script=raw_reply(200, b"[" * 100_000), raises=OutcomeUncertain),
        Situation(id="garbage/no id", script=reply(200, {"event": "message"}), raises=OutcomeUncertain),
    ],
)
