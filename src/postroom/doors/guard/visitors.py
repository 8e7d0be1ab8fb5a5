"""Who has business at which MCP port; what they may do there is the tools' own rule."""

from __future__ import annotations

from postroom.domain.principal import Principal, Role
from postroom.doors.guard.tool_policy import Rule, any_butler, butler


def visitors(part: str) -> Rule:
    """
    A butler's port is its own, and the switchboard routes to it; the switchboard's
    is for all butlers; at the messenger's, people decide approvals.
    """
    match part:
        case "switchboard":
            return any_butler
        case "messenger":
            return _messengers_visitor
        case _:
            return butler(part, "switchboard")


def _messengers_visitor(one: Principal) -> bool:
    return one.role in (Role.PERSON, Role.USER) or butler("switchboard", "messenger")(one)
