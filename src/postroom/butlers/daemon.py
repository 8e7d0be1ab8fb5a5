"""A butler: its name, its tools' work, and how the switchboard hears that it is alive."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import structlog

from postroom.attention.model import is_notice_id
from postroom.butlers.loading import LoadedModules
from postroom.butlers.model import Appointment, AppointmentKind
from postroom.butlers.scheduler import Scheduler
from postroom.butlers.sessions import Sessions
from postroom.butlers.store import StoredState
from postroom.delivery.notify import Notifier, NotifyArguments, read_arguments
from postroom.kernel.guard.http import Verifier
from postroom.kernel.running.clock import Clock
from postroom.kernel.running.loop import Loops
from postroom.kernel.values.errors import DeliveryTimeout, FieldError, PostroomError, TargetUnavailable, ValidationError
from postroom.kernel.values.ids import SECOND_US, is_uuid, parse_text, seconds, to_text
from postroom.message.channel import KnownChannels
from postroom.message.wire import argument_error, notify_document, notify_error
from postroom.settings.peer import Peer
from postroom.settings.roster import ButlerConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Butler:
    """`verifier` also knows the tokens of this butler's own sessions; one without a model has none."""

    config: ButlerConfig
    port: int
    notifier: Notifier
    state: StoredState
    sessions: Sessions | None
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

    def model(self) -> Sessions:
        if self.sessions is None:
            raise TargetUnavailable(f"{self.name} has no runtime (runtime.type)")
        return self.sessions

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


# `notify_status`: what became of a message it sent.

_NOTIFY_STATUS_TIMEOUT_SECONDS: Final = 15.0


async def notify_status(delivery_id: object, notice_id: object = None, *, switchboard: Peer) -> dict[str, Any]:
    """The switchboard knows who asks; whose delivery it is, the messenger. A notice takes the same way."""
    try:
        asked = _identifier(delivery_id, notice_id)
    except ValidationError as error:
        return argument_error(error)
    try:
        return await switchboard.call("delivery_status", {"delivery_id": asked}, _NOTIFY_STATUS_TIMEOUT_SECONDS)
    except (DeliveryTimeout, TargetUnavailable) as error:
        silent = "the switchboard gave no answer; nothing about the delivery has changed, ask again"
        return notify_error(type(error)(silent))
    except PostroomError as error:
        return notify_error(error)


def _identifier(delivery_id: object, notice_id: object) -> str:
    if notice_id is not None and delivery_id is not None:
        raise ValidationError("Give either delivery_id or notice_id.")
    if notice_id is not None:
        return _notice_id(notice_id)
    given = delivery_id.strip() if isinstance(delivery_id, str) else ""
    if not is_uuid(given) and not is_notice_id(given):
        raise ValidationError("Invalid delivery_id format: it is a UUID")
    return given


def _notice_id(notice_id: object) -> str:
    given = notice_id.strip() if isinstance(notice_id, str) else ""
    if not is_notice_id(given):
        raise ValidationError("Invalid notice_id format: it is the notice_id of an answer of notify")
    return given


# `remind`: a message with a moment, stored now and sent then, without a model.

_MAX_DELAY_MINUTES: Final = 5 * 366 * 24 * 60


@dataclass(frozen=True, slots=True, kw_only=True)
class RemindArguments:
    """As they came from the model."""

    message: object = None
    channel: object = None
    delay_minutes: object = None
    remind_at: object = None
    recipient: object = None
    subject: object = None
    request_context: object = None
    format: object = None


def plan_reminder(
    arguments: RemindArguments, *, butler: str, channels: KnownChannels, reminder_id: str, now_us: int
) -> Appointment:
    """Raises ValidationError: what could not be sent then is refused now."""
    due = due_at_us(arguments, now_us)
    notify = NotifyArguments(
        channel=arguments.channel,
        message=arguments.message,
        recipient=arguments.recipient,
        subject=arguments.subject,
        intent="reply" if arguments.request_context is not None else "send",
        request_context=arguments.request_context,
        format=arguments.format,
    )
    envelope = notify_document(read_arguments(notify, origin_butler=butler, channels=channels))
    work: dict[str, Any] = {**envelope["delivery"], "request_context": envelope.get("request_context")}
    return Appointment(
        id=reminder_id,
        butler=butler,
        kind=AppointmentKind.REMINDER,
        name="reminder",
        due_at_us=due,
        work=json.dumps({"notify": {name: value for name, value in work.items() if value is not None}}),
        created_at_us=now_us,
    )


def due_at_us(arguments: RemindArguments, now_us: int) -> int:
    delay, moment = arguments.delay_minutes, arguments.remind_at
    if (delay is None) == (moment is None):
        raise ValidationError("Give either 'delay_minutes' or 'remind_at'.")
    if delay is not None:
        if isinstance(delay, bool) or not isinstance(delay, int | float) or not 0 < delay <= _MAX_DELAY_MINUTES:
            raise _wrong("delay_minutes", f"must be a number above 0 and at most {_MAX_DELAY_MINUTES}")
        return now_us + seconds(delay * 60)
    try:
        due = parse_text(str(moment))
    except (ValueError, OverflowError):
        raise _wrong("remind_at", "must be an RFC 3339 time with an offset") from None
    if due <= now_us:
        raise _wrong("remind_at", "must lie in the future")
    if due > now_us + seconds(_MAX_DELAY_MINUTES * 60):
        raise _wrong("remind_at", "lies too far in the future")
    return due


def scheduled_answer(reminder: Appointment) -> dict[str, Any]:
    notify = json.loads(reminder.work)["notify"]
    return {
        "id": reminder.id,
        "status": "scheduled",
        "remind_at": to_text(reminder.due_at_us),
        "channel": notify["channel"],
        "message": notify["message"],
    }


def _wrong(field: str, error: str) -> ValidationError:
    return ValidationError.of([FieldError(field, error, "invalid")])


# Heartbeats.

_INTERVAL_SECONDS: Final = 60.0
_RETRY_SECONDS: Final = 2.0
_TIMEOUT_SECONDS: Final = 5.0


@asynccontextmanager
async def heartbeats(
    switchboard: Peer, *, butler: str, description: str, modules: Sequence[str], clock: Clock, loops: Loops
) -> AsyncIterator[None]:
    """The first one at once; while the switchboard is away, again and again until it is back."""
    tried = asyncio.Event()

    async def beat() -> bool:
        try:
            body = {"description": description, "modules": list(modules)}
            answer = await switchboard.call("register", body, _TIMEOUT_SECONDS)
            return answer.get("status") == "ok"
        except PostroomError as error:
            structlog.get_logger("postroom.butler").warning(
                "heartbeat.failed", butler=butler, error_class=str(error.error_class)
            )
            return False

    async def look() -> int:
        try:
            beaten = await beat()
        finally:
            tried.set()
        return clock.now_us() + seconds(_INTERVAL_SECONDS if beaten else _RETRY_SECONDS)

    async with loops.running(f"heartbeat:{butler}", look):
        await tried.wait()
        yield
