"""Apprise with its plainest service, JSON to a host, in every situation a channel can meet."""

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
from postroom.domain.ports import Channel
from postroom.world.channels.apprise.channel import AppriseService

TEXT = "the kettle is on and nobody is watching it"
SECRET = "canary-password"
PATH = "canary-path"


class JsonServer(BotApi):
    """Takes JSON, as the Bot API does; only its answers are others."""

    def __init__(self) -> None:
        super().__init__()
        self.script = [raw_reply(200, b"ok")]


def connect(port: int) -> Channel:
    url = f"json://us:{SECRET}@127.0.0.1:{port}/{PATH}?+x-key={PATH}"
    return AppriseService("apprise", url, allow_private=True, now=lambda: datetime(2026, 3, 1, 12, tzinfo=UTC))


def _error(status: int, headers: str = "") -> Reply:
    return reply(status, {"error": f"no: {TEXT}, {SECRET}"}, headers=headers)


CASE = Case(
    name="apprise",
    provider=JsonServer,
    connect=connect,
    address="-",
    not_an_address="ada@example.org",
    text=TEXT,
    secrets=[SECRET, PATH],
    situations=[
        Situation(id="accepted", script=raw_reply(200, b"ok")),
        Situation(id="slow", script=raw_reply(200, b"ok", hold=True), held=True),
        *(
            Situation(id=f"message_refused/{status}", script=_error(status), raises=ValidationError)
            for status in (400, 413, 422)
        ),
        Situation(id="recipient_refused/404", script=_error(404), raises=ValidationError),
        Situation(id="recipient_refused/410", script=_error(410), raises=ValidationError),
        Situation(id="credentials_refused/401", script=_error(401), raises=TargetUnavailable),
        Situation(id="credentials_refused/403", script=_error(403), raises=TargetUnavailable),
        Situation(
            id="throttled", script=_error(429, "Retry-After: 7\r\n"), raises=ProviderThrottled, retry_after_seconds=7.0
        ),
        *(
            Situation(id=f"unavailable/{status}", script=_error(status), raises=raises)
            for status, raises in {
                500: ProviderFailed,
                502: ProviderFailed,
                503: TargetUnavailable,
                504: ProviderFailed,
            }.items()
        ),
        *(
            Situation(
                id=f"unavailable/redirect {status}",
                script=raw_reply(status, b"", headers="Location: http://127.0.0.1:1/elsewhere\r\n"),
                raises=TargetUnavailable,
            )
            for status in (301, 302, 307, 308)
        ),
        Situation(id="reset_before_reading", script=Trouble.RESET_BEFORE_READING, raises=OutcomeUncertain, taken=0),
        Situation(id="hang", script=Trouble.READ_THEN_HANG, raises=OutcomeUncertain, timeout_seconds=1.0),
        Situation(id="accepted_then_cut", script=Trouble.READ_THEN_RESET, raises=OutcomeUncertain),
        Situation(id="accepted_then_cut/closed", script=Trouble.READ_THEN_CLOSE, raises=OutcomeUncertain),
        Situation(
            id="accepted_then_cut/inside the answer",
            script=Reply(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nhalf", close=True),
            raises=OutcomeUncertain,
        ),
        Situation(
            id="garbage/not HTTP", script=Reply(raw=b"\x00\x01 hello\r\n\r\n", close=True), raises=OutcomeUncertain
        ),
    ],
)
