"""The approvals module: which of the messenger's tools wait for a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mcp.server.mcpserver import MCPServer

from postroom.domain.errors import ValidationError
from postroom.doors.butler.modules.module import ModuleConfig, ModuleContext
from postroom.doors.guard.tool_policy import Rule

GATED_TOOLS: Final = ("telegram_send_message", "email_send_message", "notify")


class ApprovalsConfig(ModuleConfig):
    """The gate stands at the delivery boundary, so naming fewer tools would open nothing; it is refused instead."""

    gated_tools: tuple[str, ...] = GATED_TOOLS
    """Tools that wait for a person; none of these three can be left out."""


class ApprovalsModule:
    name: Final = "approvals"
    dependencies: Final = ()
    config: Final = ApprovalsConfig

    async def start(self, config: ApprovalsConfig, context: ModuleContext) -> None:
        if missing := sorted(set(GATED_TOOLS) - set(config.gated_tools)):
            raise ValidationError(f"modules.approvals.gated_tools: {', '.join(missing)} cannot be left out")

    def tools(self, server: MCPServer[Any]) -> Mapping[str, Rule]:
        return {}

    async def stop(self) -> None:
        """Nothing to stop: the gate belongs to the delivery plane."""
