"""Text that no store can hold, in every argument of every tool: refused in words or taken, never a failure of ours."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from postroom.kernel.values.errors import HINTS, Code
from tests.household.living import Living, living

_REVISION = "2026-07-28"
_META = {
    f"io.modelcontextprotocol/{name}": value
    for name, value in {
        "protocolVersion": _REVISION,
        "clientInfo": {"name": "test", "version": "1"},
        "clientCapabilities": {},
    }.items()
}
_SAMPLES = {"string": "abcdefgh", "integer": 1, "number": 1, "boolean": False, "object": {}, "array": []}


async def ask(home: Living, url: str, method: str, **params: Any) -> dict[str, Any]:
    """Written by hand, because no client of ours would send half a character."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": _META}})
    headers = {
        "Authorization": f"Bearer {home.token('operator')}",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "MCP-Protocol-Version": _REVISION,
        "Mcp-Method": method,
        "Mcp-Name": str(params.get("name", "")),
    }
    async with home.http.post(url, data=body, headers=headers) as response:
        answer: dict[str, Any] = json.loads(await response.text())
        assert response.status < 500, answer
        return answer


def sample(schema: Mapping[str, Any]) -> Any:
    kind = schema.get("anyOf", [schema])[0]
    if kind.get("format") == "uuid":
        return "019b76db-9260-7005-8b8f-02fc93ec3989"
    return kind["enum"][0] if "enum" in kind else _SAMPLES.get(str(kind.get("type")), "x")


def is_our_failure(answer: dict[str, Any]) -> bool:
    result = answer.get("result") or {}
    structured = result.get("structuredContent") or {}
    words = [part.get("text", "") for part in result.get("content", [])]
    return structured.get("error_class") == "internal_error" or words == [HINTS[Code.INTERNAL]]


@pytest.mark.parametrize("odd", ["a\x00bcdefgh", "a\ud800bcdefgh"], ids=["NUL", "half a character"])
@pytest.mark.parametrize("part", ["messenger", "health", "switchboard", "api"])
async def test_no_tool_fails_over_text_that_cannot_be_kept(home: Path, postgres_url: str, part: str, odd: str) -> None:
    async with living(home, {"database_url": postgres_url, "approvals": {"enabled": True}}) as house:
        url = house.household.addresses[part].removesuffix("/mcp") + "/mcp"
        tools = (await ask(house, url, "tools/list"))["result"]["tools"]
        failed = []
        for tool in tools:
            name, schema = tool["name"], tool["inputSchema"]
            fine = {one: sample(schema["properties"][one]) for one in schema.get("required", [])}
            fine |= {"wait_seconds": 0} if name in ("ask", "wait") else {}
            for argument in schema.get("properties", {}):
                for value in (odd, {"key": odd}):
                    given = {**fine, argument: value}
                    if is_our_failure(await ask(house, url, "tools/call", name=name, arguments=given)):
                        failed.append((name, argument, type(value).__name__))

    assert tools
    assert failed == []
