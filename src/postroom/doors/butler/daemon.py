"""A butler: its name, its tools' work, and what it needs from the household."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from postroom.domain.clock import Clock
from postroom.domain.errors import PostroomError, ValidationError
from postroom.domain.notify_response import argument_error, notify_error
from postroom.domain.principal import Principal
from postroom.domain.session import Session, SessionStatus
from postroom.domain.time import SECOND_US
from postroom.doors.butler.modules.loading import LoadedModules
from postroom.doors.butler.notify import Notifier, NotifyArguments
from postroom.doors.butler.notify_status import notify_status
from postroom.doors.butler.reminders import RemindArguments, plan_reminder, scheduled_answer
from postroom.doors.guard.http import Verifier
from postroom.system.roster.config import ButlerConfig
from postroom.work.butlers.scheduler import Scheduler


class ButlerState(Protocol):
    async def get(self, key: str) -> dict[str, Any] | None: ...

    async def set(self, key: str, value: Any, *, expected_version: int | None, now_us: int) -> int | None: ...

    async def delete(self, key: str) -> bool: ...

    async def keys(self, prefix: str, limit: int) -> list[str]: ...


class ButlerSessions(Protocol):
    """Sessions of the model: stored first, run when there is room."""

    async def submit(
        self,
        prompt: str,
        *,
        trigger: str,
        caller: Principal,
        material: object = None,
        context: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> Session: ...

    async def newest(
        self, *, status: SessionStatus | None = None, before: str | None = None, limit: int = 50
    ) -> Sequence[Session]: ...

    async def get(self, session_id: str) -> Session | None: ...

    async def halt(self, session_id: str) -> Session | None: ...

    def notify_context(self, caller: Principal, intent: object) -> dict[str, Any] | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Butler:
    """`verifier` also knows the tokens of this butler's own sessions."""

    config: ButlerConfig
    port: int
    notifier: Notifier
    state: ButlerState
    sessions: ButlerSessions
    modules: LoadedModules
    verifier: Verifier
    scheduler: Scheduler
    clock: Clock
    mint: Callable[[int], str]
    started_at_us: int

    @property
    def name(self) -> str:
        return self.config.name

    def new_id(self) -> str:
        return self.mint(self.clock.now_us())

    async def notify(self, arguments: NotifyArguments) -> dict[str, Any]:
        return await self.notifier.notify(arguments, origin_butler=self.name, request_id=self.new_id())

    async def notify_status(self, delivery_id: object, notice_id: object = None) -> dict[str, Any]:
        return await notify_status(delivery_id, notice_id, switchboard=self.notifier.switchboard)

    async def remind(self, arguments: RemindArguments) -> dict[str, Any]:
        now = self.clock.now_us()
        try:
            reminder = plan_reminder(
                arguments, butler=self.name, channels=self.notifier.channels, reminder_id=self.mint(now), now_us=now
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
