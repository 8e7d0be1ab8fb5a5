"""Has a deadline for each piece of an answer, and none for the whole."""

from __future__ import annotations

from postroom.kernel.http.call import HttpAnswer as Answer
from tests.testing.pager import Page, Pager

FAILS = {"read-then-silence", "drip-past-deadline"}


class Broken(Pager):
    """As if silence were the only way to be slow; here the deadline is simply a longer one."""

    async def post(self, part: Page, timeout_seconds: float) -> Answer:
        return await super().post(part, timeout_seconds + 60.0)
