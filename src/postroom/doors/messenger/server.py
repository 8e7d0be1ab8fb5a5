"""The messenger's MCP server."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ToolAnnotations
from pydantic import Field

from postroom.doors.guard.caller import caller
from postroom.doors.guard.guarded_server import GuardedServer
from postroom.doors.guard.http import Verifier
from postroom.doors.guard.tool_policy import Rule, ToolPolicy
from postroom.doors.messenger.approval_tools import add_approval_tools
from postroom.doors.messenger.argument_names import ArgumentNames
from postroom.doors.messenger.channel_tools import ChannelTools, add_channel_tools
from postroom.doors.messenger.correction_tools import add_correction_tools
from postroom.doors.messenger.dead_letter_tools import add_dead_letter_tools
from postroom.doors.messenger.execute import Execute
from postroom.doors.messenger.health_tools import add_envelope_tools, add_health_tools
from postroom.doors.messenger.policy import rules
from postroom.doors.messenger.tracking_tools import add_tracking_tools
from postroom.work.approvals.approvals import Approvals
from postroom.work.delivery.dead_letters import DeadLetters
from postroom.work.delivery.dry_run import DryRun
from postroom.work.delivery.health import DeliveryHealth
from postroom.work.delivery.tracking import Tracking

DESCRIPTION = "Outbound delivery execution plane for Telegram and Email"


@dataclass(frozen=True, slots=True, kw_only=True)
class MessengerParts:
    """What the messenger needs from the household."""

    execute: Execute
    channel_tools: ChannelTools
    tracking: Tracking
    dead_letters: DeadLetters
    health: DeliveryHealth
    dry_run: DryRun
    verifier: Verifier
    approvals: Approvals | None = None
    approvers: Collection[str] = ()


def build_server(parts: MessengerParts, *, more_rules: Mapping[str, Rule] | None = None) -> GuardedServer:
    """`more_rules` are those of tools that are added afterwards: what every butler has."""
    policy, names = ToolPolicy({**(more_rules or {}), **rules(parts.approvers)}, parts.verifier), ArgumentNames()
    server = GuardedServer("messenger", policy, description=DESCRIPTION, more=[names])
    _add_route_execute(server, parts)
    add_channel_tools(server, parts.channel_tools)
    add_correction_tools(server, parts.execute.corrections, parts.verifier)
    add_tracking_tools(server, parts.tracking)
    add_dead_letter_tools(server, parts.dead_letters)
    add_envelope_tools(server, parts.dry_run)
    add_health_tools(server, parts.health)
    if parts.approvals is not None:
        add_approval_tools(server, parts.approvals, parts.verifier)
    names.of(server)
    return server


def _add_route_execute(server: MCPServer[Any], parts: MessengerParts) -> None:
    async def route_execute(
        context: Context[Any, Any],
        route: dict[str, Any],
        wait_seconds: Annotated[float, Field(ge=0, le=600)] = 20.0,
    ) -> dict[str, Any]:
        """Execute a route.v1 that carries a notify.v1; answers with a route_response.v1."""
        return await parts.execute.execute(caller(context, parts.verifier), route, wait_seconds=wait_seconds)

    server.add_tool(route_execute, name="route.execute", annotations=ToolAnnotations(open_world_hint=True))
