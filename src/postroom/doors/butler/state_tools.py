"""The state tools: what a butler wants to remember between sessions."""

from __future__ import annotations

import json
from typing import Annotated, Any, Final

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations
from pydantic import Field

from postroom.domain.errors import sentence
from postroom.domain.sendable_json import unsendable
from postroom.doors.butler.daemon import Butler
from postroom.doors.guard.json_body import Text

MAX_VALUE_BYTES: Final = 64 * 1024
Key = Annotated[Text, Field(min_length=1, max_length=200)]
_READS = ToolAnnotations(read_only_hint=True)


def add_state_tools(server: MCPServer[Any], butler: Butler) -> None:
    async def state_get(key: Key) -> dict[str, Any]:
        """What is kept under a key: its value and version, or found=false."""
        found = await butler.state.get(key)
        return {"found": True, **found} if found else {"found": False, "key": key}

    async def state_set(key: Key, value: Any, expected_version: int | None = None) -> dict[str, Any]:
        """
        Keep a JSON value under a key.

        With `expected_version` (0 for a key that must not exist yet) it is kept only if nobody
        changed it meanwhile.
        """
        if len(json.dumps(value)) > MAX_VALUE_BYTES:
            return {"status": "error", "error": f"the value must not exceed {MAX_VALUE_BYTES} bytes of JSON"}
        if odd := unsendable(value, "value"):
            return {"status": "error", "error": sentence(odd)}
        now = butler.clock.now_us()
        version = await butler.state.set(key, value, expected_version=expected_version, now_us=now)
        if version is None:
            return {"status": "conflict", "key": key, "error": "the value was changed by somebody else"}
        return {"status": "ok", "key": key, "version": version}

    async def state_delete(key: Key) -> dict[str, Any]:
        """Forget a key."""
        return {"status": "ok", "key": key, "deleted": await butler.state.delete(key)}

    async def state_list(
        prefix: Annotated[Text, Field(max_length=200)] = "", limit: Annotated[int, Field(ge=1, le=500)] = 100
    ) -> dict[str, Any]:
        """The keys that begin with a prefix."""
        keys = await butler.state.keys(prefix, limit)
        return {"keys": keys, "count": len(keys)}

    server.add_tool(state_get, annotations=_READS)
    server.add_tool(state_set)
    server.add_tool(state_delete)
    server.add_tool(state_list, annotations=_READS)
