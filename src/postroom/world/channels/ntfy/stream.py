"""A subscription to one topic that is held open until something is published there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import aiohttp

from postroom.domain.errors import TargetUnavailable
from postroom.world.channels.ntfy.answers import events
from postroom.world.http.http_call import HttpAnswer
from postroom.world.http.whole_answer import whole_answer

_LONGEST_LINE_BYTES: Final = 1_048_576
Wanted = Callable[[Sequence[Mapping[str, Any]]], bool]


class TopicStream:
    """
    Opened anew for each look: what comes between two of them is in the server's cache.

    Errors are raised outside of the handlers that caught the library's own, which name the URL.
    """

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None

    async def until(
        self, url: str, headers: Mapping[str, str], wanted: Wanted, timeout_seconds: float
    ) -> list[Mapping[str, Any]] | HttpAnswer:
        """The events so far, as soon as they are wanted or the time is over; the answer itself when it is a refusal."""
        heard: list[Mapping[str, Any]] = []
        try:
            async with asyncio.timeout(timeout_seconds), self._opened().get(url, **_as_it_is(headers)) as response:
                if response.status != 200:
                    return HttpAnswer(
                        status=response.status, headers=response.headers, body=await whole_answer(response.content)
                    )
                if await self._collect(response.content, heard, wanted):
                    return heard
        except TimeoutError:
            return heard
        except (aiohttp.ClientError, OSError):
            pass
        raise TargetUnavailable("ntfy ended the subscription")

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _collect(self, content: aiohttp.StreamReader, heard: list[Mapping[str, Any]], wanted: Wanted) -> bool:
        """False when the other side has ended it."""
        rest = b""
        while piece := await content.readany():
            lines, _, rest = (rest + piece).rpartition(b"\n")
            heard += events(lines)
            if wanted(heard):
                return True
            if len(rest) > _LONGEST_LINE_BYTES:
                break
        return False

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                cookie_jar=aiohttp.DummyCookieJar(), timeout=aiohttp.ClientTimeout(total=None, sock_connect=None)
            )
        return self._session


def _as_it_is(headers: Mapping[str, str]) -> dict[str, Any]:
    return {"headers": headers, "allow_redirects": False}
