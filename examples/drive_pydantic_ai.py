# /// script
# dependencies = ["postroom", "pydantic-ai-slim[openai]>=2"]
#
# [tool.uv.sources]
# postroom = { path = ".." } # the clone: it is not on PyPI yet
# ///
"""
Pydantic AI: a tool that runs once a person has approved it, even if this process dies meanwhile.

    postroom up                                        # in another terminal
    export OPENAI_API_KEY=...
    python examples/drive_pydantic_ai.py release-17    # kill it, approve on the phone, start it again

`--offline` plays a scripted model.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from postroom.agents.pydantic_ai import drive


def scripted(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    if any(part.part_kind == "tool-return" for message in messages for part in message.parts):
        return ModelResponse(parts=[TextPart("Done.")])
    return ModelResponse(parts=[ToolCallPart("deploy", {"version": "release-17"})])


async def main(version: str, *, offline: bool) -> None:
    model = FunctionModel(scripted) if offline else "openai:gpt-5"
    agent = Agent(model, output_type=[str, DeferredToolRequests])

    @agent.tool_plain(requires_approval=True)
    def deploy(version: str) -> str:
        """Puts a version into production."""
        with Path("deployed.txt").open("a") as file:
            file.write(f"{version}\n")
        return "Deployed."

    result = await drive(agent, f"Deploy {version}", run_id=version)
    print(result.output)


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--offline"]
    asyncio.run(main(words[0] if words else "release-17", offline="--offline" in sys.argv))
