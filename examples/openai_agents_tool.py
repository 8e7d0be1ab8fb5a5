# /// script
# dependencies = ["postroom[openai-agents]"]
#
# [tool.uv.sources]
# postroom = { path = ".." } # the clone: it is not on PyPI yet
# ///
"""
OpenAI Agents SDK: an agent that can leave its user a notification.

    postroom up                                     # in another terminal
    export OPENAI_API_KEY=...
    python examples/openai_agents_tool.py "Remind me of the dentist at nine"

The household on this machine is found by itself; for one elsewhere set
POSTROOM_URL and POSTROOM_TOKEN. `--offline` plays a scripted model.
"""

from __future__ import annotations

import asyncio
import sys

from agents import Agent, RunConfig, Runner
from postroom.agents import send_notification


def scripted_model() -> object:
    from agents.testing import ScriptedModel, assistant_message, function_call

    arguments = {"message": "The dentist is at nine", "type": "reminder"}
    return ScriptedModel([[function_call("send_notification", arguments, call_id="1")], [assistant_message("Noted.")]])


async def main(request: str, *, offline: bool) -> None:
    agent = Agent(
        name="assistant",
        instructions="Help the user. Leave a notification when they want to be reminded of something.",
        tools=[send_notification],
        **({"model": scripted_model()} if offline else {}),
    )
    result = await Runner.run(
        agent,
        request,
        context={"user_id": "ada", "conversation_id": "c-17", "correlation_id": "r-4711"},
        run_config=RunConfig(tracing_disabled=offline),
    )
    for item in result.new_items:
        if item.type == "tool_call_output_item":
            print(item.output)
    print(result.final_output)


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--offline"]
    asyncio.run(main(" ".join(words) or "Remind me of the dentist at nine", offline="--offline" in sys.argv))
