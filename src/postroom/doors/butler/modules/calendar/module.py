"""The calendar as a module of a butler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mcp.server.mcpserver import MCPServer

from postroom.domain.calendar import CalendarSource
from postroom.domain.errors import TargetUnavailable
from postroom.doors.butler.modules.calendar.config import CalendarConfig
from postroom.doors.butler.modules.calendar.tools import TOOL_NAMES, add_tools
from postroom.doors.butler.modules.module import ModuleContext
from postroom.doors.guard.tool_policy import Rule, butler
from postroom.work.calendar.calendar import Calendar
from postroom.work.calendar.conflicts import Daytime


class CalendarModule:
    """
    Starts without credentials too: its tools then say what is missing, because a
    household that has not connected a calendar is not broken.
    """

    name: Final = "calendar"
    config: Final = CalendarConfig

    def __init__(self) -> None:
        self._config: CalendarConfig | None = None
        self._source: CalendarSource | None = None
        self._calendar: Calendar | None = None
        self._butler = ""
        self._missing: tuple[str, ...] = ()

    async def start(self, config: CalendarConfig, context: ModuleContext) -> None:
        self._config, self._butler = config, context.butler
        names = (config.client_id_env, config.client_secret_env, config.refresh_token_env)
        self._missing = tuple(name for name in names if not context.environment.get(name))
        if self._missing:
            return
        self._source = context.calendars(config, [context.environment[name] for name in names])
        hours = config.conflicts
        daytime = Daytime(earliest_hour=hours.earliest_hour, latest_hour=hours.latest_hour)
        self._calendar = Calendar(self._source, hours.policy, daytime, context.clock)

    def tools(self, server: MCPServer[Any]) -> Mapping[str, Rule]:
        if self._config is None:
            raise RuntimeError("the calendar module has not been started")
        add_tools(server, self._connected, self._config.timezone)
        return dict.fromkeys(TOOL_NAMES, butler(self._butler))

    async def stop(self) -> None:
        if self._source is not None:
            await self._source.close()

    def _connected(self) -> Calendar:
        if self._calendar is None:
            raise TargetUnavailable(f"no calendar is connected: set {', '.join(self._missing)}")
        return self._calendar
