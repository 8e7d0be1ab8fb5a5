"""Reads an answer to its end, however long that is, with a library of its own choice."""

from __future__ import annotations

import asyncio
import json

import aiohttp

from postroom.kernel.http.call import HttpAnswer as Answer
from postroom.kernel.values.errors import OutcomeUncertain
from tests.testing.pager import Page, Pager

FAILS = {"swollen", "connection-refused", "unknown-host", "handshake-cut"}


class Broken(Pager):
    """It cannot tell what was sent from what was not, either."""

    async def post(self, part: Page, timeout_seconds: float) -> Answer:
        try:
            async with asyncio.timeout(timeout_seconds):
                return await self._whole(part)
        except (aiohttp.ClientError, OSError, TimeoutError):
            pass
        raise OutcomeUncertain("no answer came")

    async def _whole(self, part: Page) -> Answer:
        files = [await self.file(one) for one in part.files]
        content = json.dumps({**part.body, "key": part.key, "files": files}).encode()
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{self._url}/pages", data=content, headers=self.headers(), allow_redirects=False) as response,
        ):
            return Answer(status=response.status, headers=response.headers, body=await response.read())
