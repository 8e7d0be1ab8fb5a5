"""The sandbox's control API over HTTP, in this process or another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import aiohttp

from postroom.domain.errors import TargetUnavailable, ValidationError

_TIMEOUT: Final = aiohttp.ClientTimeout(total=5, sock_connect=2)


class HttpSandboxDoor:
    """`base_url` ends with /sandbox/."""

    def __init__(self, base_url: str) -> None:
        self._base_url = base_url

    async def messages(self, path: str) -> list[dict[str, Any]]:
        answer = await self._ask("GET", path, None)
        found: list[dict[str, Any]] = answer["messages"]
        return found

    async def post(self, path: str, body: Mapping[str, Any]) -> None:
        await self._ask("POST", path, body)

    async def file(self, sha256: str) -> bytes | None:
        """None when the sandbox has it no longer."""
        try:
            async with (
                aiohttp.ClientSession(timeout=_TIMEOUT) as http,
                http.get(f"{self._base_url}files/{sha256}") as response,
            ):
                return await response.read() if response.status == 200 else None
        except (aiohttp.ClientError, TimeoutError) as error:
            reason = type(error).__name__
        raise TargetUnavailable(f"the sandbox cannot be reached ({reason})")

    async def _ask(self, method: str, path: str, body: Mapping[str, Any] | None) -> dict[str, Any]:
        try:
            async with (
                aiohttp.ClientSession(timeout=_TIMEOUT) as http,
                http.request(method, self._base_url + path, json=body) as response,
            ):
                answer: dict[str, Any] = await response.json()
                status = response.status
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            raise TargetUnavailable(f"the sandbox cannot be reached ({type(error).__name__})") from None
        if status >= 400:
            raise ValidationError(_reason_given(answer))
        return answer


def _reason_given(answer: Mapping[str, Any]) -> str:
    error = answer.get("error")
    message = error.get("message") if isinstance(error, Mapping) else error
    return str(message or "it does not accept this")[:300]
