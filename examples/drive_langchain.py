# /// script
# dependencies = ["postroom", "langchain", "langgraph-checkpoint-sqlite"]
#
# [tool.uv.sources]
# postroom = { path = ".." } # the clone: it is not on PyPI yet
# ///
"""
LangChain: a tool that runs once a person has approved it, even if this process dies meanwhile.

    postroom up                                     # in another terminal
    export OPENAI_API_KEY=...                       # and pip install langchain-openai
    python examples/drive_langchain.py release-17   # kill it, approve on the phone, start it again

`--offline` plays a scripted model.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from postroom.agents.langchain import drive


def deploy(version: str) -> str:
    """Puts a version into production."""
    with Path("deployed.txt").open("a") as file:
        file.write(f"{version}\n")
    return "Deployed."


class ScriptedModel(GenericFakeChatModel):
    def bind_tools(self, tools: Any, **_: Any) -> ScriptedModel:
        return self

    def _generate(self, messages: Any, *more: Any, **options: Any) -> Any:
        call = {"name": "deploy", "args": {"version": "release-17"}, "id": "1"}
        said = AIMessage("Done.") if messages[-1].type == "tool" else AIMessage("", tool_calls=[call])
        self.messages = iter([said])
        return super()._generate(messages, *more, **options)


async def main(version: str, *, offline: bool) -> None:
    async with AsyncSqliteSaver.from_conn_string("releases.db") as checkpointer:
        agent = create_agent(
            ScriptedModel(messages=iter([])) if offline else "openai:gpt-5",
            [deploy],
            middleware=[HumanInTheLoopMiddleware(interrupt_on={"deploy": True})],
            checkpointer=checkpointer,
        )
        given = {"messages": [("user", f"Deploy {version}")]}
        result = await drive(agent, given, {"configurable": {"thread_id": version}})
    print(result["messages"][-1].text)


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--offline"]
    asyncio.run(main(words[0] if words else "release-17", offline="--offline" in sys.argv))
