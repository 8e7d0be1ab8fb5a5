"""The channel of the documentation's example, in every situation a channel can meet."""

from __future__ import annotations

import sys

from tests.architecture.tree import ROOT
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

TEXT = "the kettle is on and nobody is watching it"


class BeeperGateway(BotApi):
    """Takes messages as JSON, as the Bot API does; only its answers are others."""

    def __init__(self) -> None:
        super().__init__()
        self.script = [ACCEPTED]


ACCEPTED = reply(201, {"page": "hwQ2YpKdmg"})


def connect(port: int) -> Channel:
    if str(ROOT / "examples") not in sys.path:
        sys.path.append(str(ROOT / "examples"))
    from beeper_channel import Beeper

    channel: Channel = Beeper(f"http://127.0.0.1:{port}")
    return channel


def _error(status: int, headers: str = "") -> Reply:
    return reply(status, {"error": f"no: {TEXT}"}, headers=headers)


CASE = Case(
    name="beeper",
    provider=BeeperGateway,
    connect=connect,
    address="kitchen",
    not_an_address="ada@example.org",
    text=TEXT,
    secrets=[],
    situations=[
        Situation(id="accepted", script=ACCEPTED),
        Situation(id="slow", script=reply(201, {"page": "x"}, hold=True), held=True),
        Situation(id="message_refused", script=_error(400), raises=ValidationError),
        Situation(id="recipient_refused", script=_error(403), raises=ValidationError),
        Situation(id="credentials_refused", script=_error(401), raises=TargetUnavailable),
        Situation(
            id="throttled", script=_error(429, "Retry-After: 7\r\n"), raises=ProviderThrottled, retry_after_seconds=7.0
        ),
        Situation(id="unavailable/503", script=_error(503), raises=TargetUnavailable),
        Situation(id="unavailable/500", script=_error(500), raises=ProviderFailed),
        Situation(id="reset_before_reading", script=Trouble.RESET_BEFORE_READING, raises=OutcomeUncertain, taken=0),
        Situation(id="hang", script=Trouble.READ_THEN_HANG, raises=OutcomeUncertain, timeout_seconds=1.0),
        Situation(id="accepted_then_cut", script=Trouble.READ_THEN_RESET, raises=OutcomeUncertain),
        Situation(id="garbage/not JSON", script=raw_reply(200, b"<html>ok</html>"), raises=OutcomeUncertain),
        Situation(id="garbage/no id", script=reply(201, {"state": "queued"}), raises=OutcomeUncertain),
    ],
)
