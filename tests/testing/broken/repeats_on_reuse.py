"""Repeats a message when the line kept from the one before is closed, as many libraries do."""

from __future__ import annotations

from postroom.kernel.values.errors import OutcomeUncertain
from postroom.message.delivery import Receipt
from tests.testing.pager import Page, Pager

FAILS = {"reused-connection"}


class Broken(Pager):
    reused = False

    async def send(self, part: Page, timeout_seconds: float) -> Receipt:
        try:
            receipt = await super().send(part, timeout_seconds)
        except OutcomeUncertain:
            if not self.reused:
                raise
            receipt = await super().send(part, timeout_seconds)
        self.reused = True
        return receipt
