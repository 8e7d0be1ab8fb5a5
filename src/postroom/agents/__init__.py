"""`send_notification` for agents: a function tool for the OpenAI Agents SDK, and an MCP tool for everybody else."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from postroom.agents.asks import RemoteHousehold
    from postroom.agents.openai_agents import notification_tool, send_notification

__all__ = ["RemoteHousehold", "notification_tool", "send_notification"]


def __getattr__(name: str) -> object:
    """Looked up when first asked for, because the SDK is an extra that the household itself does without."""
    if name == "RemoteHousehold":
        from postroom.agents.asks import RemoteHousehold

        return RemoteHousehold
    if name in __all__:
        from postroom.agents import openai_agents

        return getattr(openai_agents, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
