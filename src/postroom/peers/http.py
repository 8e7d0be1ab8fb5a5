"""A part in another process: MCP over streamable HTTP, one self-contained POST per call."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, Final

import aiohttp
from opentelemetry.propagate import inject

from postroom.domain.errors import DeliveryTimeout, InternalError, OutcomeUncertain, TargetUnavailable, ValidationError
from postroom.system.mcp_sdk.revision import REVISION

_META: Final = "io.modelcontextprotocol/"
_CONNECT_SECONDS: Final = 3.0
_IDLE_SECONDS: Final = 2.0  # less than a server keeps a connection, so that none is closed under a call


class Unreachable(TargetUnavailable):
    """Nothing listens there."""


class HttpPeer:
    """
    Speaks the stateless revision of the protocol itself: the SDK's client cancels
    its surroundings when a connection fails, and here a failure is an answer.
    """

    def __init__(self, name: str, url: str, token: str) -> None:
        self.name = name
        self.url = url
        self._headers = {
            "Authorization": f"Bearer {token}",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": REVISION,
            "Mcp-Method": "tools/call",
        }
        self._session: aiohttp.ClientSession | None = None
        self._ids = itertools.count(1)

    async def connect(self) -> None:
        """Connections are made when needed."""

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
        return self._read(tool, status, answer)

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
        timeout = aiohttp.ClientTimeout(total=timeout_seconds, sock_connect=_CONNECT_SECONDS)
        body = self._request(tool, arguments, extra)
        headers = {"Mcp-Name": tool} | ({"Authorization": f"Bearer {token}"} if token else {})
        async with self._session.post(self.url, json=body, headers=headers, timeout=timeout) as response:
            return response.status, await response.json()

    def _request(self, tool: str, arguments: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
        meta: dict[str, Any] = {
            **extra,
            f"{_META}protocolVersion": REVISION,
            f"{_META}clientInfo": {"name": "postroom", "version": "1"},
            f"{_META}clientCapabilities": {},
        }
        inject(meta)
        params = {"name": tool, "arguments": dict(arguments), "_meta": meta}
        return {"jsonrpc": "2.0", "id": next(self._ids), "method": "tools/call", "params": params}

    def _read(self, tool: str, status: int, answer: Any) -> dict[str, Any]:
        if status in (401, 403):
            raise TargetUnavailable(f"{self.name} does not accept our token")
        if not isinstance(answer, dict):
            raise InternalError(f"{self.name} answered with no object")
        if error := answer.get("error"):
            text = error.get("message", "") if isinstance(error, dict) else error
            raise ValidationError(f"{self.name} refused: {text}")
        result = answer.get("result")
        content = result.get("structuredContent") if isinstance(result, dict) else None
        if not isinstance(result, dict) or result.get("isError") or not isinstance(content, dict):
            raise InternalError(f"{self.name} failed in {tool}")
        return content
