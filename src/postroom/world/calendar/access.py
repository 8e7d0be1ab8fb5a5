"""Access tokens from Google, refreshed before they run out."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Final

import aiohttp

from postroom.domain.clock import Clock
from postroom.domain.errors import InternalError, TargetUnavailable
from postroom.domain.time import seconds
from postroom.system.settings.secret import Secret
from postroom.world.calendar.refusals import reason_of

_MARGIN_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    client_id: Secret
    client_secret: Secret
    refresh_token: Secret


class AccessTokens:
    """One refresh at a time; everybody who waits gets its result."""

    def __init__(self, credentials: Credentials, url: str, clock: Clock, timeout_seconds: float) -> None:
        self._credentials = credentials
        self._url = url
        self._clock = clock
        self._timeout = aiohttp.ClientTimeout(total=timeout_seconds)
        self._token = ""
        self._good_until_us = 0
        self._lock = asyncio.Lock()

    async def get(self, session: aiohttp.ClientSession, *, refused: str = "") -> str:
        """`refused` is a token that was just turned down, and is not given out again."""
        async with self._lock:
            if self._token in ("", refused) or self._clock.now_us() >= self._good_until_us:
                await self._refresh(session)
            return self._token

    async def _refresh(self, session: aiohttp.ClientSession) -> None:
        form = {
            "grant_type": "refresh_token",
            "client_id": self._credentials.client_id.reveal(),
            "client_secret": self._credentials.client_secret.reveal(),
            "refresh_token": self._credentials.refresh_token.reveal(),
        }
        status, body, answer = await self._post(session, form)
        if status != 200:
            raise _refused(status, reason_of(body))
        token, lasts = answer.get("access_token"), answer.get("expires_in", 3600)
        if not isinstance(token, str) or not token or isinstance(lasts, bool) or not isinstance(lasts, int | float):
            raise InternalError("Google's answer holds no access token")
        self._token = token
        self._good_until_us = self._clock.now_us() + seconds(max(0.0, lasts - _MARGIN_SECONDS))

    async def _post(self, session: aiohttp.ClientSession, form: dict[str, str]) -> tuple[int, bytes, dict[str, Any]]:
        try:
            async with session.post(self._url, data=form, timeout=self._timeout, allow_redirects=False) as response:
                body = await response.read()
                answer = await response.json(content_type=None) if response.status == 200 else {}
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError):
            answer = None
        if not isinstance(answer, dict):  # raised out here: the library's own error would name the request
            raise TargetUnavailable("Google's login cannot be reached", retry_after_seconds=1.0)
        return response.status, body, answer


def _refused(status: int, reason: str) -> TargetUnavailable:
    if reason == "invalid_grant":
        return TargetUnavailable("Google no longer accepts the refresh token; connect the calendar again")
    return TargetUnavailable(f"Google's login answered {status}" + (f" ({reason})" if reason else ""))
