"""Takes the last thing that the provider has for the one that is looked for."""

from __future__ import annotations

from datetime import datetime

from postroom.message.delivery import Receipt
from tests.testing.pager import Page, Pager

FAILS = {"capability/reconciles"}


class Broken(Pager):
    async def find(self, part: Page, since: datetime, timeout_seconds: float) -> Receipt | None:
        told = await self.ask("/pages", timeout_seconds)
        return Receipt(told["pages"][-1]["id"]) if told["pages"] else None
