"""A butler: its name, its tools' work, and what it needs from the household."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from mcp.server.mcpserver import Context

from postroom.butler.config import ButlerConfig
from postroom.butler.notify import NotifyArguments, argument_error, notify
from postroom.butler.reminders import RemindArguments, plan_reminder, scheduled_answer
from postroom.butler.scheduler import Scheduler
from postroom.domain.errors import PostroomError, ValidationError
from postroom.domain.route import notify_error
from postroom.domain.time import SECOND_US
from postroom.ports import Clock, Peer


class State(Protocol):
    async def get(self, key: str) -> dict[str, Any] | None: ...

    async def set(self, key: str, value: Any, *, expected_version: int | None, now_us: int) -> int | None: ...

    async def delete(self, key: str) -> bool: ...

    async def keys(self, prefix: str, limit: int) -> list[str]: ...


class Sessions(Protocol):
    """Sessions of the model: stored first, run when there is room."""

    async def submit(
        self, *, prompt: str, source: str, request_context: Mapping[str, Any] | None = None, context: Any = None
    ) -> dict[str, Any]: ...

    async def listed(self, limit: int) -> list[dict[str, Any]]: ...

    async def get(self, session_id: str) -> dict[str, Any] | None: ...


class Modules(Protocol):
    def states(self) -> dict[str, dict[str, Any]]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Butler:
    """`session_context` finds the request behind a call made inside a routed session."""

    config: ButlerConfig
    port: int
    switchboard: Peer
    state: State
    sessions: Sessions
    modules: Modules
    scheduler: Scheduler
    clock: Clock
    mint: Callable[[int], str]
    channels: frozenset[str]
    notify_wait_seconds: float
    started_at_us: int
    session_context: Callable[[Context[Any, Any]], Mapping[str, Any] | None] = field(default=lambda _: None)

    @property
    def name(self) -> str:
        return self.config.name

    async def notify(self, arguments: NotifyArguments) -> dict[str, Any]:
        return await notify(
            arguments,
            origin_butler=self.name,
            request_id=self.mint(self.clock.now_us()),
            channels=self.channels,
            switchboard=self.switchboard,
            default_wait_seconds=self.notify_wait_seconds,
        )

    async def remind(self, arguments: RemindArguments) -> dict[str, Any]:
        now = self.clock.now_us()
        try:
            reminder = plan_reminder(
                arguments, butler=self.name, channels=self.channels, reminder_id=self.mint(now), now_us=now
            )
            await self.scheduler.remember(reminder)
        except ValidationError as error:
            return argument_error(error)
        except PostroomError as error:
            return notify_error(error)
        return scheduled_answer(reminder)

    def status(self) -> dict[str, Any]:
        modules = self.modules.states()
        well = all(module["status"] == "ok" for module in modules.values())
        return {
            "name": self.name,
            "description": self.config.butler.description,
            "port": self.port,
            "runtime": self.config.runtime.type,
            "health": "ok" if well else "degraded",
            "modules": modules,
            "uptime_seconds": round((self.clock.now_us() - self.started_at_us) / SECOND_US, 3),
        }
