"""Ready prompts over MCP: the words of the skill file, for clients that offer prompts to their user."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.prompts import Prompt
from pydantic import Field

from postroom.domain.skill import skill_section

Act = Annotated[str, Field(description="What must not be done without a yes, such as: deploy to production")]


def add_ready_prompts(server: MCPServer[Any]) -> None:
    for prompt in _ready():
        server.add_prompt(prompt)


@cache
def _ready() -> tuple[Prompt, ...]:
    """The same on every server: they are made of words alone."""
    made = (
        (use_when_blocked, "Use Postroom when you are blocked", "Ask me on my phone instead of stopping or guessing."),
        (ask_before, "Ask before you deploy", "Ask me on my phone before what cannot be undone."),
        (what_did_i_miss, "What did I miss?", "Fetch the answers that came while you were away."),
    )
    return tuple(Prompt.from_function(prompt, title=title, description=about) for prompt, title, about in made)


def use_when_blocked() -> str:
    begun = "When you are blocked on something that only I can decide or know, use Postroom."
    return f"{begun}\n\n{skill_section('When you are blocked')}\n\nDo not\n\n{skill_section('Do not')}"


def ask_before(act: Act = "deploy") -> str:
    return f"Before you {act}, ask me with Postroom.\n\n{skill_section('Before what cannot be undone')}"


def what_did_i_miss() -> str:
    return f"{skill_section('When you were restarted')}\n\nThen tell me what was answered, and go on where you stopped."
