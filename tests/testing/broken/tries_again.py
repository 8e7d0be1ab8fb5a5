"""Tries again by itself when the provider is away."""

from __future__ import annotations

from postroom.message.delivery import Receipt
from tests.testing.pager import Page, Pager

FAILS = {"unavailable-503"}


class Broken(Pager):
    async def send(self, part: Page, timeout_seconds: float) -> Receipt:
        answer = await self.post(part, timeout_seconds)
        if answer.status == 503:
            answer = await self.post(part, timeout_seconds)
        return self.read(answer)
