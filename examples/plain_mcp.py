# /// script
# dependencies = ["mcp>=2.3", "httpx2"]
# ///
"""
Plain MCP: call a butler's `notify` with the official client, and read its answer.

    postroom up                                     # in another terminal
    export POSTROOM_TOKEN=$(postroom token show --butler health)
    python examples/plain_mcp.py "The kettle is on"

Another butler, or one elsewhere: BUTLER_URL.
"""

from __future__ import annotations

import asyncio
import os
import sys

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client


async def main(message: str) -> None:
    url = os.environ.get("BUTLER_URL", "http://127.0.0.1:40103/mcp")
    headers = {"Authorization": f"Bearer {os.environ['POSTROOM_TOKEN']}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http, terminate_on_close=False)) as health,
    ):
        tools = await health.list_tools()
        print(", ".join(tool.name for tool in tools.tools))
        answer = await health.call_tool("notify", {"channel": "telegram", "message": message})
        print(answer.structured_content)


if __name__ == "__main__":
    asyncio.run(main(" ".join(sys.argv[1:]) or "The kettle is on"))
