"""Takes no complete answer for not sent."""

from __future__ import annotations

from postroom.kernel.http.call import HttpAnswer as Answer
from postroom.kernel.values.errors import OutcomeUncertain, TargetUnavailable
from tests.testing.pager import Page, Pager

FAILS = {
    "reset-before-reading",
    "read-then-reset",
    "read-then-silence",
    "cut-in-head",
    "cut-in-content",
    "wrong-length",
    "drip-past-deadline",
    "reused-connection",
    "close-while-sending",
    "capability/reconciles",
}


class Broken(Pager):
    async def post(self, part: Page, timeout_seconds: float) -> Answer:
        try:
            return await super().post(part, timeout_seconds)
        except OutcomeUncertain:
            raise TargetUnavailable("the pager could not be reached") from None
