"""MCP calls as they go over the wire, for what no client library does on its own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import httpx2
from tests.questions.askers import MODERN, Askers

from postroom.kernel.values.principal import Principal
from postroom.questions.doors.tasks import TASKS

KNOWS_TASKS: dict[str, Any] = {"extensions": {TASKS: {}}}
SHOWS_FORMS: dict[str, Any] = {"elicitation": {"form": {}}}


async def call(
    house: Askers,
    who: Principal,
    part: str,
    method: str,
    params: Mapping[str, Any],
    able: Mapping[str, Any] = KNOWS_TASKS,
    **headers: str,
) -> dict[str, Any]:
    return await post(house.line.url(part), house.token(who), method, params, able, **headers)


async def post(
    url: str, token: str, method: str, params: Mapping[str, Any], able: Mapping[str, Any] = KNOWS_TASKS, **headers: str
) -> dict[str, Any]:
    """The answer of the newer protocol: `result` or `error`."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": dict(able),
    }
    sent = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
    own = {
        "Authorization": f"Bearer {token}",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": MODERN,
        "Mcp-Method": method,
        "Mcp-Name": str(params.get("taskId", params.get("name", ""))),
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    async with httpx2.AsyncClient(timeout=30) as http:
        return message_of(await http.post(f"{url}/mcp", json=sent, headers=own))


def message_of(answer: httpx2.Response) -> dict[str, Any]:
    text = answer.text
    if answer.headers["content-type"].startswith("text/event-stream"):
        text = [line for line in text.splitlines() if line.startswith("data:")][-1].removeprefix("data:")
    found: dict[str, Any] = json.loads(text)
    return found


async def begin(house: Askers, who: Principal, able: Mapping[str, Any], part: str = "api") -> str:
    """A session of the older protocol."""
    params = {"protocolVersion": "2025-11-25", "capabilities": dict(able), "clientInfo": {"name": "t", "version": "1"}}
    answer = await _older(house, who, part, {"id": 1, "method": "initialize", "params": params})
    return str(answer.headers["mcp-session-id"])


async def said_in(house: Askers, who: Principal, session_id: str, part: str = "api") -> int:
    """How a word in that session is taken."""
    said = {"method": "notifications/initialized"}
    return (await _older(house, who, part, said, Mcp_Session_Id=session_id)).status_code


async def _older(
    house: Askers, who: Principal, part: str, message: Mapping[str, Any], **headers: str
) -> httpx2.Response:
    sent = {
        "Authorization": f"Bearer {house.token(who)}",
        "Accept": "application/json, text/event-stream",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    async with httpx2.AsyncClient(timeout=30) as http:
        return await http.post(f"{house.line.url(part)}/mcp", json={"jsonrpc": "2.0", **message}, headers=sent)
