"""One HTTP request that knows whether it left this machine."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import aiohttp

from postroom.domain.errors import DeliveryTimeout, OutcomeUncertain, PostroomError, TargetUnavailable
from postroom.world.http.descriptors import out_of_descriptors
from postroom.world.http.whole_answer import whole_answer

_JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAnswer:
    status: int
    retry_after: str | None
    body: bytes


@dataclass(slots=True)
class _Trip:
    """How far one request came."""

    left: bool = False
    refusal: HttpAnswer | None = None


class HttpCall:
    """
    Posts JSON, once, within a deadline.

    Errors are raised outside of the handlers that caught the library's own:
    those name the URL, and the URL may hold a credential.
    """

    def __init__(self, service: str) -> None:
        self._service = service
        self._session: aiohttp.ClientSession | None = None

    async def post(self, url: str, body: Mapping[str, Any], timeout_seconds: float) -> HttpAnswer:
        trip, late, ours = _Trip(), False, None
        try:
            async with asyncio.timeout(timeout_seconds):
                return await self._exchange(url, json.dumps(body).encode(), trip)
        except TimeoutError:
            late = True
        except (aiohttp.ClientError, OSError) as error:
            ours = None if trip.left else out_of_descriptors(error)
        if trip.refusal:
            return trip.refusal
        raise ours or self._failure(trip, late)

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _exchange(self, url: str, body: bytes, trip: _Trip) -> HttpAnswer:
        # POST only: the library silently repeats methods it takes for idempotent
        async with self._open_session().post(
            url, data=body, headers=_JSON, allow_redirects=False, trace_request_ctx=trip
        ) as response:
            status, retry_after = response.status, response.headers.get("Retry-After")
            if not 200 <= status < 300:
                # the status alone is a complete refusal, even if its explanation is cut off
                trip.refusal = HttpAnswer(status=status, retry_after=retry_after, body=b"")
            content = await whole_answer(response.content)
            return HttpAnswer(status=status, retry_after=retry_after, body=content)

    def _failure(self, trip: _Trip, late: bool) -> PostroomError:
        if trip.left:
            return OutcomeUncertain(f"{self._service} received the request but no complete answer came back")
        if late:
            return DeliveryTimeout(f"{self._service} could not be reached before the deadline")
        return TargetUnavailable(f"{self._service} could not be reached")

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
                trace_configs=[_departure()],
            )
        return self._session


def _departure() -> aiohttp.TraceConfig:
    """The signal comes just before the bytes are written, so `left` never errs towards "not sent"."""
    config = aiohttp.TraceConfig()
    config.on_request_chunk_sent.append(_mark_left)
    return config


async def _mark_left(
    session: aiohttp.ClientSession, context: SimpleNamespace, chunk: aiohttp.TraceRequestChunkSentParams
) -> None:
    context.trace_request_ctx.left = True
