"""Takes a provider that cannot say for one that has nothing, so the message is sent twice."""

from __future__ import annotations

from datetime import datetime

from postroom.kernel.values.errors import TargetUnavailable
from postroom.message.delivery import Receipt
from tests.testing.pager import Page, Pager

FAILS = {"capability/reconciles"}


class Broken(Pager):
    async def find(self, part: Page, since: datetime, timeout_seconds: float) -> Receipt | None:
        try:
            return await super().find(part, since, timeout_seconds)
        except TargetUnavailable:
            return None
