"""Notices to subscribers over HTTP: one POST, no redirects, nothing of the answer but its status."""

from __future__ import annotations

from collections.abc import Mapping

import aiohttp

from postroom.domain.errors import TargetUnavailable

_TIMEOUT = aiohttp.ClientTimeout(total=10.0, sock_connect=5.0)


class WebhookPost:
    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> int:
        if self._session is None:
            self._session = aiohttp.ClientSession(timeout=_TIMEOUT)
        try:
            async with self._session.post(url, data=body, headers=dict(headers), allow_redirects=False) as response:
                return response.status
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            raise TargetUnavailable(f"the subscriber cannot be reached ({type(error).__name__})") from None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
