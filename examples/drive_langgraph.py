# /// script
# dependencies = ["postroom", "langgraph", "langgraph-checkpoint-sqlite"]
#
# [tool.uv.sources]
# postroom = { path = ".." } # the clone: it is not on PyPI yet
# ///
"""
LangGraph: a graph that asks a person, and goes on with the answer even if this process dies meanwhile.

    postroom up                                     # in another terminal
    python examples/drive_langgraph.py release-17   # kill it, answer on the phone, start it again

The household on this machine is found by itself; for one elsewhere set
POSTROOM_URL and POSTROOM_TOKEN.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TypedDict

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

from postroom.agents.langgraph import drive


class Release(TypedDict, total=False):
    version: str
    where: str


def choose(release: Release) -> Release:
    where = interrupt({"question": f"Where shall {release['version']} go?", "options": ["staging", "production"]})
    return {"where": where}


def deploy(release: Release) -> Release:
    with Path("deployed.txt").open("a") as file:
        file.write(f"{release['version']} to {release['where']}\n")
    return {}


async def main(version: str) -> None:
    async with AsyncSqliteSaver.from_conn_string("releases.db") as checkpointer:
        graph = StateGraph(Release).add_node(choose).add_node(deploy)
        graph.add_edge(START, "choose").add_edge("choose", "deploy")
        config = {"configurable": {"thread_id": version}}
        result = await drive(graph.compile(checkpointer=checkpointer), {"version": version}, config)
    print(f"{result['version']} went to {result['where']}.")


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--offline"]
    asyncio.run(main(words[0] if words else "release-17"))
