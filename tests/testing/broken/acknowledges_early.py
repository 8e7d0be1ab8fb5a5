"""Acknowledges what people wrote before it has been handled."""

from __future__ import annotations

from postroom.message.inbound import Listened
from tests.testing.pager import Pager

FAILS = {"inbound/acknowledging", "inbound/restart", "inbound/same-event"}


class Broken(Pager):
    async def listen(self, position: int | None, timeout_seconds: float) -> Listened:
        listened = await super().listen(position, timeout_seconds)
        if listened.position is not None:
            await super().listen(listened.position, 0.0)
        return listened
