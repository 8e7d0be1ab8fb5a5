"""What every module offers to the butler that loads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from mcp.server.mcpserver import MCPServer
from pydantic import BaseModel, ConfigDict

from postroom.domain.calendar import CalendarSource
from postroom.domain.clock import Clock
from postroom.doors.guard.tool_policy import Rule
from postroom.system.settings.secret import Secret


class ModuleConfig(BaseModel):
    """The keys of a module's section; a key that is not declared is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True, use_attribute_docstrings=True)


class Calendars(Protocol):
    """Opens the calendar that a module's section names, with its client id, client secret and refresh token."""

    def __call__(self, config: Any, secrets: Sequence[Secret]) -> CalendarSource: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleContext:
    """Of the butler that loads it. `environment` holds variables that a module may look up by name."""

    butler: str
    clock: Clock
    calendars: Calendars
    environment: Mapping[str, Secret] = field(default_factory=dict)
    in_sandbox: bool = False


class Module(Protocol):
    """
    `start` may fail, which leaves the butler degraded and without these tools;
    `tools` is called once after it; `stop` is called after a `start` that succeeded.
    """

    @property
    def name(self) -> str: ...

    @property
    def config(self) -> type[ModuleConfig]: ...

    async def start(self, config: Any, context: ModuleContext) -> None:
        """`config` is an instance of this module's own model."""
        ...

    def tools(self, server: MCPServer[Any]) -> Mapping[str, Rule]:
        """Adds the tools and says who may call each."""
        ...

    async def stop(self) -> None: ...
