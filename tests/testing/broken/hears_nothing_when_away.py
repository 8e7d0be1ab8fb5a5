"""Takes a provider that is away for one that is quiet."""

from __future__ import annotations

from postroom.kernel.values.errors import TargetUnavailable
from postroom.message.inbound import Listened
from tests.testing.pager import Pager

FAILS = {"inbound/away"}


class Broken(Pager):
    async def listen(self, position: int | None, timeout_seconds: float) -> Listened:
        try:
            return await super().listen(position, timeout_seconds)
        except TargetUnavailable:
            return Listened()
