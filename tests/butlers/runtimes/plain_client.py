"""
Tools of an MCP server, called with nothing but the standard library, one self-contained POST per call.

For the programs that play a model: the SDK's client takes a second to be read, and each session starts one anew.
"""

from __future__ import annotations

import http.client
import json
from typing import Any
from urllib.parse import urlsplit

_REVISION = "2026-07-28"
_META = "io.modelcontextprotocol/"


class Refused(Exception):
    """What the server said instead of a result."""


def call_tool(
    url: str, headers: dict[str, str], tool: str, arguments: dict[str, Any], seconds: float = 60
) -> dict[str, Any]:
    """The result as it came; a tool that failed has `isError` in it."""
    own = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": _REVISION,
        "Mcp-Method": "tools/call",
        "Mcp-Name": tool,
    }
    meta = {
        f"{_META}protocolVersion": _REVISION,
        f"{_META}clientInfo": {"name": "plain", "version": "1"},
        f"{_META}clientCapabilities": {},
    }
    params = {"name": tool, "arguments": arguments, "_meta": meta}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    status, text = send("POST", url, {**own, **headers}, body, seconds)
    try:
        answer = json.loads(text)
    except ValueError:
        raise Refused(f"{status} {text}") from None
    if "result" not in answer:
        raise Refused(answer.get("error", {}).get("message", text))
    result: dict[str, Any] = answer["result"]
    return result


def send(verb: str, url: str, headers: dict[str, str], body: Any, seconds: float = 60) -> tuple[int, str]:
    """Status and text."""
    where = urlsplit(url)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=seconds)
    try:
        data = None if body is None else json.dumps(body).encode()
        path = f"{where.path or '/'}?{where.query}" if where.query else where.path or "/"
        connection.request(verb, path, data, {"Content-Type": "application/json", **headers})
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()
