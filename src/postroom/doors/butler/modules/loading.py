"""Load the modules a butler's file asks for; one that fails leaves the butler degraded, not dead."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import structlog
from mcp.server.mcpserver import MCPServer
from pydantic import ValidationError

from postroom.domain.errors import PostroomError
from postroom.domain.field_words import words
from postroom.domain.nearest import did_you_mean
from postroom.doors.butler.modules.catalogue import MODULES
from postroom.doors.butler.modules.module import Module, ModuleConfig, ModuleContext
from postroom.doors.guard.tool_policy import ToolPolicy
from postroom.system.roster.config import ButlerConfig, RosterError
from postroom.system.settings.unknown_key import unknown_key


class LoadedModules:
    def __init__(self) -> None:
        self._states: dict[str, dict[str, Any]] = {}
        self._started: list[Module] = []

    def states(self) -> dict[str, dict[str, Any]]:
        return {name: dict(state) for name, state in self._states.items()}

    def add_tools(self, server: MCPServer[Any], policy: ToolPolicy) -> None:
        for module in self._started:
            policy.allow(module.tools(server))

    async def start(self, module: Module, config: ModuleConfig, context: ModuleContext) -> bool:
        try:
            await module.start(config, context)
        except (PostroomError, OSError) as error:
            self._states[module.name] = {"status": "failed", "phase": "startup", "error": str(error)}
            structlog.get_logger("postroom.modules").warning(
                "module.failed", butler=context.butler, module=module.name, error=type(error).__name__
            )
            return False
        self._states[module.name] = {"status": "ok"}
        self._started.append(module)
        return True


@asynccontextmanager
async def loaded_modules(config: ButlerConfig, context: ModuleContext) -> AsyncIterator[LoadedModules]:
    """In the order of their names; stopped in the opposite one."""
    loaded = LoadedModules()
    async with AsyncExitStack() as stack:
        for module in [_module(config, name) for name in sorted(config.modules)]:
            if await loaded.start(module, _section(config, module), context):
                stack.push_async_callback(module.stop)
        yield loaded


def check_modules(config: ButlerConfig) -> None:
    """Everything about modules that can be wrong in a file, before anything is started."""
    for module in [_module(config, name) for name in config.modules]:
        _section(config, module)


def _module(config: ButlerConfig, name: str) -> Module:
    if name not in MODULES:
        known, hint = ", ".join(sorted(MODULES)), did_you_mean(name, MODULES)
        raise RosterError(
            f"{config.name}/butler.toml: modules.{name}: there is no such module{hint} There are {known}."
        )
    return MODULES[name]()


def section_of(config: ButlerConfig, name: str) -> ModuleConfig | None:
    """What the file says about one module; None when it does not name it."""
    return _section(config, _module(config, name)) if name in config.modules else None


def _section(config: ButlerConfig, module: Module) -> ModuleConfig:
    section: Mapping[str, Any] = config.modules[module.name]
    try:
        return module.config.model_validate(section)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in ("modules", module.name, *first["loc"]))
        told = f"{words(first)}."
        if first["type"] == "extra_forbidden":
            told = f"unknown key{unknown_key(module.config, first['loc'])}"
        raise RosterError(f"{config.name}/butler.toml: {key}: {told}") from None
