"""Takes being cancelled for an answer."""

from __future__ import annotations

import asyncio

from postroom.kernel.values.errors import OutcomeUncertain
from postroom.message.delivery import Receipt
from tests.testing.pager import Page, Pager

FAILS = {"cancelled"}


class Broken(Pager):
    async def send(self, part: Page, timeout_seconds: float) -> Receipt:
        try:
            return await super().send(part, timeout_seconds)
        except asyncio.CancelledError:
            raise OutcomeUncertain("it was interrupted") from None
