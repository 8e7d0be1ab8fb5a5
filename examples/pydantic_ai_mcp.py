# /// script
# dependencies = ["pydantic-ai-slim[mcp,openai]>=2"]
# ///
"""
Pydantic AI: Postroom's tools over MCP.

    postroom token create --program assistant --for owner    # whose inbox it writes to; it decides nothing
    export POSTROOM_TOKEN=... OPENAI_API_KEY=...
    python examples/pydantic_ai_mcp.py "Remind me of the dentist at nine"

`--offline` plays a scripted model.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys

from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel


def scripted(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    if len(messages) > 1:
        return ModelResponse(parts=[TextPart("Noted.")])
    arguments = {"message": "The dentist is at nine", "type": "reminder"}
    return ModelResponse(parts=[ToolCallPart("send_notification", arguments)])


async def main(request: str, *, offline: bool) -> None:
    postroom = MCPToolset(
        f"{os.environ.get('POSTROOM_URL', 'http://127.0.0.1:40200')}/mcp",
        headers={"Authorization": f"Bearer {os.environ['POSTROOM_TOKEN']}"},
    )
    agent = Agent(FunctionModel(scripted) if offline else "openai:gpt-5", toolsets=[postroom])
    result = await agent.run(request)
    for message in result.all_messages():
        for part in message.parts:
            if isinstance(part, ToolReturnPart):
                print(json.dumps(part.content))
    print(result.output)


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--offline"]
    asyncio.run(main(" ".join(words) or "Remind me of the dentist at nine", offline="--offline" in sys.argv))
