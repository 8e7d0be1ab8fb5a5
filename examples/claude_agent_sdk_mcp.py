# /// script
# dependencies = ["claude-agent-sdk"]
# ///
"""
Claude Agent SDK: Postroom's tools over MCP.

    postroom token create --program assistant --for owner    # whose inbox it writes to; it decides nothing
    export POSTROOM_TOKEN=... ANTHROPIC_API_KEY=...
    python examples/claude_agent_sdk_mcp.py "Remind me of the dentist at nine"
"""

from __future__ import annotations

import asyncio
import os
import sys

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    TextBlock,
    ToolResultBlock,
    UserMessage,
    query,
)


async def main(request: str) -> None:
    options = ClaudeAgentOptions(
        mcp_servers={
            "postroom": {
                "type": "http",
                "url": f"{os.environ.get('POSTROOM_URL', 'http://127.0.0.1:40200')}/mcp",
                "headers": {"Authorization": f"Bearer {os.environ['POSTROOM_TOKEN']}"},
            }
        },
        allowed_tools=["mcp__postroom__send_notification"],
    )
    async for message in query(prompt=request, options=options):
        if not isinstance(message, AssistantMessage | UserMessage) or isinstance(message.content, str):
            continue
        for block in message.content:
            if isinstance(block, TextBlock):
                print(block.text)
            elif isinstance(block, ToolResultBlock):
                print(block.content)


if __name__ == "__main__":
    asyncio.run(main(" ".join(sys.argv[1:]) or "Remind me of the dentist at nine"))
