"""One call of a tool over MCP's stateless revision: what is sent, and what an answer means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from postroom.domain.errors import InternalError, TargetUnavailable, ValidationError
from postroom.system.mcp_sdk.revision import REVISION

CONNECT_SECONDS: Final = 3.0

_META: Final = "io.modelcontextprotocol/"


class Unreachable(TargetUnavailable):
    """Nothing listens there."""


def headers(token: str) -> dict[str, str]:
    """The same for every tool; `Mcp-Name` says which one."""
    return {
        "Authorization": f"Bearer {token}",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": REVISION,
        "Mcp-Method": "tools/call",
    }


def request(number: int, tool: str, arguments: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    meta: dict[str, Any] = {
        **extra,
        f"{_META}protocolVersion": REVISION,
        f"{_META}clientInfo": {"name": "postroom", "version": "1"},
        f"{_META}clientCapabilities": {},
    }
    params = {"name": tool, "arguments": dict(arguments), "_meta": meta}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def read(name: str, tool: str, status: int, answer: Any) -> dict[str, Any]:
    """The tool's structured answer; every other answer is an error that names the part."""
    if status in (401, 403):
        raise TargetUnavailable(f"{name} does not accept our token")
    if not isinstance(answer, dict):
        raise InternalError(f"{name} answered with no object")
    if error := answer.get("error"):
        text = error.get("message", "") if isinstance(error, dict) else error
        raise ValidationError(f"{name} refused: {text}")
    result = answer.get("result")
    content = result.get("structuredContent") if isinstance(result, dict) else None
    if not isinstance(result, dict) or result.get("isError") or not isinstance(content, dict):
        raise InternalError(f"{name} failed in {tool}")
    return content
