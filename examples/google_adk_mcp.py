# /// script
# dependencies = ["google-adk[mcp]>=2"]
# ///
"""
Google ADK: Postroom's tools over MCP.

    postroom token create --program assistant --for owner    # whose inbox it writes to; it decides nothing
    export POSTROOM_TOKEN=... GOOGLE_API_KEY=...
    python examples/google_adk_mcp.py "Remind me of the dentist at nine"

`--offline` plays a scripted model.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools.mcp_tool import McpToolset, StreamableHTTPConnectionParams
from google.genai import types


class ScriptedModel(BaseLlm):
    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        if any(part.function_response for content in llm_request.contents for part in content.parts or []):
            part = types.Part(text="Noted.")
        else:
            arguments = {"message": "The dentist is at nine", "type": "reminder"}
            part = types.Part(function_call=types.FunctionCall(name="send_notification", args=arguments))
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


async def main(request: str, *, offline: bool) -> None:
    postroom = McpToolset(
        connection_params=StreamableHTTPConnectionParams(
            url=f"{os.environ.get('POSTROOM_URL', 'http://127.0.0.1:40200')}/mcp",
            headers={"Authorization": f"Bearer {os.environ['POSTROOM_TOKEN']}"},
        )
    )
    agent = LlmAgent(
        name="assistant",
        model=ScriptedModel(model="scripted") if offline else "gemini-flash-latest",
        instruction="Help the user. Leave a notification when they want to be reminded of something.",
        tools=[postroom],
    )
    runner = InMemoryRunner(agent=agent, app_name="postroom_example")
    for event in await runner.run_debug(request, quiet=True):
        for part in (event.content.parts if event.content else None) or []:
            if part.function_response:
                print(json.dumps(part.function_response.response))
            elif part.text:
                print(part.text)
    await postroom.close()


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--offline"]
    asyncio.run(main(" ".join(words) or "Remind me of the dentist at nine", offline="--offline" in sys.argv))
