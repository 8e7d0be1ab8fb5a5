# /// script
# dependencies = ["langchain", "langchain-mcp-adapters"]
# ///
"""
LangChain: Postroom's tools over MCP.

    postroom token create --program assistant --for owner    # whose inbox it writes to; it decides nothing
    export POSTROOM_TOKEN=... OPENAI_API_KEY=...    # and pip install langchain-openai
    python examples/langchain_mcp.py "Remind me of the dentist at nine"

`--offline` plays a scripted model.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_mcp_adapters.client import MultiServerMCPClient


class ScriptedModel(GenericFakeChatModel):
    def bind_tools(self, tools: Any, **_: Any) -> ScriptedModel:
        return self


def scripted_model() -> ScriptedModel:
    arguments = {"message": "The dentist is at nine", "type": "reminder"}
    call = {"name": "send_notification", "args": arguments, "id": "1"}
    return ScriptedModel(messages=iter([AIMessage("", tool_calls=[call]), AIMessage("Noted.")]))


async def main(request: str, *, offline: bool) -> None:
    client = MultiServerMCPClient(
        {
            "postroom": {
                "transport": "streamable_http",
                "url": f"{os.environ.get('POSTROOM_URL', 'http://127.0.0.1:40200')}/mcp",
                "headers": {"Authorization": f"Bearer {os.environ['POSTROOM_TOKEN']}"},
            }
        }
    )
    agent = create_agent(scripted_model() if offline else "openai:gpt-5", await client.get_tools())
    result = await agent.ainvoke({"messages": [("user", request)]})
    for message in result["messages"]:
        if isinstance(message, ToolMessage):
            print(message.text)
    print(result["messages"][-1].text)


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--offline"]
    asyncio.run(main(" ".join(words) or "Remind me of the dentist at nine", offline="--offline" in sys.argv))
