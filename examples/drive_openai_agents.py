# /// script
# dependencies = ["postroom[openai-agents]"]
#
# [tool.uv.sources]
# postroom = { path = ".." } # the clone: it is not on PyPI yet
# ///
"""
OpenAI Agents SDK: a tool that runs once a person has approved it, even if this process dies meanwhile.

    postroom up                                          # in another terminal
    export OPENAI_API_KEY=...
    python examples/drive_openai_agents.py release-17    # kill it, approve on the phone, start it again

`--offline` plays a scripted model.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from agents import Agent, RunConfig, function_tool
from postroom.agents.openai_agents import drive


@function_tool(needs_approval=True)
def deploy(version: str) -> str:
    """Puts a version into production."""
    with Path("deployed.txt").open("a") as file:
        file.write(f"{version}\n")
    return "Deployed."


def scripted_model(version: str) -> Any:
    from agents.testing import ScriptedModel, assistant_message, function_call

    class OneOfTwo(ScriptedModel):
        async def get_response(self, **given: Any) -> Any:
            has_run = "function_call_output" in str(given["input"])
            call = function_call("deploy", {"version": version}, call_id="1")
            self.enqueue([assistant_message("Done.")] if has_run else [call])
            return await super().get_response(**given)

    return OneOfTwo([])


async def main(version: str, *, offline: bool) -> None:
    agent = Agent(name="releases", tools=[deploy], **({"model": scripted_model(version)} if offline else {}))
    settings = RunConfig(tracing_disabled=offline)
    result = await drive(agent, f"Deploy {version}", run_id=version, run_config=settings)
    print(result.final_output)


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--offline"]
    asyncio.run(main(words[0] if words else "release-17", offline="--offline" in sys.argv))
