"""Calls of a living household's API over HTTP, and of its tools over MCP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.household.living import Living


async def post(
    household: Living, path: str, body: Any, *, token: str = "", raw: bytes | None = None, **headers: str
) -> tuple[int, dict[str, Any], Mapping[str, str]]:
    token = token or household.token("health")
    url = household.household.addresses["api"] + path
    more = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", **headers}
    given: dict[str, Any] = {"json": body} if raw is None else {"data": raw}
    async with household.http.post(url, headers=more, **given) as response:
        return response.status, await response.json(), response.headers


async def get(household: Living, path: str, *, token: str) -> tuple[int, dict[str, Any]]:
    return await household.api("GET", path, token=token)


@asynccontextmanager
async def client(url: str, token: str, mode: str = "auto") -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as one,
    ):
        yield one
