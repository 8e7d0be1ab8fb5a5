# /// script
# dependencies = ["postroom", "google-adk>=2"]
#
# [tool.uv.sources]
# postroom = { path = ".." } # the clone: it is not on PyPI yet
# ///
"""
Google ADK: a tool that runs once a person has confirmed it, even if this process dies meanwhile.

    postroom up                                       # in another terminal
    export GOOGLE_API_KEY=...
    python examples/drive_google_adk.py release-17    # kill it, approve on the phone, start it again

`--offline` plays a scripted model.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools import FunctionTool
from google.genai import types

from postroom.agents.google_adk import drive


def deploy(version: str) -> str:
    """Puts a version into production."""
    with Path("deployed.txt").open("a") as file:
        file.write(f"{version}\n")
    return "Deployed."


class ScriptedModel(BaseLlm):
    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        parts = [part for content in llm_request.contents for part in content.parts or []]
        if any(part.function_response for part in parts):
            part = types.Part(text="Done.")
        else:
            part = types.Part(function_call=types.FunctionCall(name="deploy", args={"version": "release-17"}))
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


async def main(version: str, *, offline: bool) -> None:
    agent = LlmAgent(
        name="releases",
        model=ScriptedModel(model="scripted") if offline else "gemini-flash-latest",
        tools=[FunctionTool(deploy, require_confirmation=True)],
    )
    runner = Runner(agent=agent, app_name="releases", session_service=SqliteSessionService("releases.db"))
    events = await drive(runner, f"Deploy {version}", user_id="ada", session_id=version)
    print(events[-1].content.parts[0].text)


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--offline"]
    asyncio.run(main(words[0] if words else "release-17", offline="--offline" in sys.argv))
