"""A part of the household in another process: MCP over streamable HTTP, one self-contained POST per call."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, Final, Protocol

import aiohttp
from opentelemetry.propagate import inject

from postroom.kernel.http.answers import JsonObject
from postroom.kernel.values.errors import DeliveryTimeout, OutcomeUncertain
from postroom.kernel.values.fields import Document
from postroom.settings.reach import CONNECT_SECONDS, Unreachable, headers, read, request

_IDLE_SECONDS: Final = 2.0  # less than a server keeps a connection, so that none is closed under a call


class Peer(Protocol):
    """Another part of the household, reached over MCP."""

    async def call(self, tool: str, arguments: JsonObject, timeout_seconds: float) -> Document: ...


class HttpPeer:
    """
    Speaks the stateless revision of the protocol itself: the SDK's client cancels
    its surroundings when a connection fails, and here a failure is an answer.
    """

    def __init__(self, name: str, url: str, token: str) -> None:
        self.name = name
        self.url = url
        self._headers = headers(token)
        self._session: aiohttp.ClientSession | None = None
        self._ids = itertools.count(1)

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        timeout_seconds: float,
        *,
        meta: Mapping[str, Any] | None = None,
        token: str | None = None,
    ) -> dict[str, Any]:
        """`meta` travels beside the arguments, where no model sees it; `token` speaks for somebody else for once."""
        try:
            status, answer = await self._post(tool, arguments, timeout_seconds, meta or {}, token)
        except (aiohttp.ConnectionTimeoutError, aiohttp.ClientConnectorError):
            raise Unreachable(f"{self.name} cannot be reached") from None
        except TimeoutError:
            raise DeliveryTimeout(f"{self.name} did not answer in time") from None
        except (aiohttp.ClientError, ValueError) as error:  # it may have done what we asked
            raise OutcomeUncertain(f"{self.name} broke off ({type(error).__name__})") from None
        return read(self.name, tool, status, answer)

    async def _post(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        timeout_seconds: float,
        extra: Mapping[str, Any],
        token: str | None,
    ) -> tuple[int, Any]:
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE_SECONDS)
            self._session = aiohttp.ClientSession(headers=self._headers, connector=connector)
        timeout = aiohttp.ClientTimeout(total=timeout_seconds, sock_connect=CONNECT_SECONDS)
        meta = dict(extra)
        inject(meta)
        body = request(next(self._ids), tool, arguments, meta)
        more = {"Mcp-Name": tool} | ({"Authorization": f"Bearer {token}"} if token else {})
        async with self._session.post(self.url, json=body, headers=more, timeout=timeout) as response:
            return response.status, await response.json()
