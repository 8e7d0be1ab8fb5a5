"""Goes wherever it is sent, with the message and the token."""

from __future__ import annotations

import json

from postroom.kernel.http.call import HttpAnswer as Answer
from tests.testing.pager import Page, Pager

FAILS = {"redirect"}


class Broken(Pager):
    async def post(self, part: Page, timeout_seconds: float) -> Answer:
        answer = await super().post(part, timeout_seconds)
        if answer.status != 307:
            return answer
        content = json.dumps({**part.body, "key": part.key}).encode()
        return await self._http.request(
            "POST", answer.headers["Location"], timeout_seconds, body=content, headers=self.headers()
        )
