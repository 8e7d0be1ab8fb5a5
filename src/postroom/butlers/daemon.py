"""A butler: its tools, their work and their server, and how the switchboard hears that it is alive."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from postroom.butlers.acts import CORE_ACTS, Remind, accepted
from postroom.butlers.calendar.module import CalendarModule
from postroom.butlers.model import Appointment, AppointmentKind, Registration, Session
from postroom.butlers.routing import TakeRoute
from postroom.butlers.scheduler import Scheduler
from postroom.butlers.sessions import Sessions
from postroom.butlers.store import StoredState
from postroom.butlers.switchboard import Registry
from postroom.butlers.wire import ROUTE_RESPONSE_V1, CorrectionHop, parse_route, route_error
from postroom.delivery.notify import Notifier, read_arguments, wait_seconds
from postroom.kernel.acts.declaration import Act, Call
from postroom.kernel.acts.reading import made
from postroom.kernel.acts.tools import add_tools
from postroom.kernel.guard.http import Verifier
from postroom.kernel.guard.tools import GuardedServer, ToolPolicy, butler
from postroom.kernel.running.clock import Clock
from postroom.kernel.running.loop import Loops
from postroom.kernel.values.errors import DeliveryTimeout, FieldError, PostroomError, TargetUnavailable, ValidationError
from postroom.kernel.values.fields import Document
from postroom.kernel.values.ids import SECOND_US, parse_text, seconds, to_text
from postroom.kernel.values.principal import Principal, Role, SessionPrincipal
from postroom.message.acts import Notify, NotifyStatus, Recall, Revise, channel_words
from postroom.message.channel import KnownChannels
from postroom.message.delivery import Format, Intent
from postroom.message.wire import MAX_MARKDOWN_CHARACTERS, argument_error, notify_document, notify_error
from postroom.overview.tracking import SenderStatus
from postroom.settings.roster import ButlerConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Butler:
    """`verifier` also knows the tokens of this butler's own sessions; one without a model has none."""

    config: ButlerConfig
    port: int
    notifier: Notifier
    messages: SenderStatus
    corrections: CorrectionHop
    state: StoredState
    sessions: Sessions | None
    failing_modules: Mapping[str, str]
    calendar: CalendarModule | None
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

    async def notify(self, call: Call[Any], asked: Notify) -> Mapping[str, Any]:
        """The request a routed session answers is what its notify belongs to."""
        context, format = asked.request_context, asked.format
        if format is None:
            format = _of_a_model(call.caller, asked)
        if context is None and self.sessions is not None:
            context = self.sessions.notify_context(call.caller, asked.intent or Intent.SEND)
        asked = asked.model_copy(update={"request_context": context, "format": format})
        return await self.notifier.notify(asked, origin_butler=self.name, request_id=self.new_id())

    async def standing(self, _call: Call[Any], identifier: str) -> Mapping[str, Any]:
        return await self.messages.answer(self.name, identifier)

    async def correct(self, _call: Call[Any], correction: Mapping[str, Any], wait: object) -> Mapping[str, Any]:
        patience = wait_seconds(wait, self.notifier.default_wait_seconds)
        try:
            return await self.corrections.correct(Principal(Role.BUTLER, self.name), correction, patience)
        except (DeliveryTimeout, TargetUnavailable) as error:
            silent = "the messenger gave no answer; the same call again is safe, it corrects once"
            return notify_error(type(error)(silent))
        except PostroomError as error:
            return notify_error(error)

    async def take_route(self, caller: Principal, payload: object) -> Document:
        """A route becomes a session; the same subrequest may arrive twice and is one."""
        started = self.clock.now_us()
        request_context: Mapping[str, Any] = {}
        try:
            route = parse_route(payload, self.name)
            request_context = route.request_context
            session = await self.model().submit(
                route.prompt,
                trigger="route",
                caller=caller,
                material=route.context,
                context=request_context,
                key=f"{route.request_id}:{hashlib.sha256(route.prompt.encode()).hexdigest()[:16]}",
            )
            return route_accepted(session, request_context, (self.clock.now_us() - started) / 1000)
        except PostroomError as error:
            timing = {"duration_ms": (self.clock.now_us() - started) / 1000}
            return route_error(error, request_context) | {"timing": timing}

    async def remind(self, arguments: Remind) -> Document:
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

    def status(self) -> Document:
        modules = {
            name: {"status": "failed", "phase": "startup", "error": why} if why else {"status": "ok"}
            for name, why in self.failing_modules.items()
        }
        return {
            "name": self.name,
            "description": self.config.butler.description,
            "port": self.port,
            "runtime": self.config.runtime.type,
            "health": "degraded" if any(self.failing_modules.values()) else "ok",
            "modules": modules,
            "uptime_seconds": round((self.clock.now_us() - self.started_at_us) / SECOND_US, 3),
        }


def route_accepted(session: Session, request_context: Mapping[str, Any], duration_ms: float) -> Document:
    """The answer of `route.execute` on a butler that works through its model."""
    return {
        "schema_version": ROUTE_RESPONSE_V1,
        "request_context": dict(request_context),
        "status": "accepted",
        "inbox_id": session.id,
        "result": accepted(session),
        "timing": {"duration_ms": round(duration_ms, 3)},
    }


def _of_a_model(one: Principal, asked: Notify) -> str | None:
    """Models write Markdown, asked for or not; what is too long to be read as such stays plain."""
    if asked.intent != Intent.REPLY or not isinstance(asked.message, str):
        return None
    is_markdown = isinstance(one, SessionPrincipal) and len(asked.message) <= MAX_MARKDOWN_CHARACTERS
    return str(Format.MARKDOWN) if is_markdown else None


# `remind`: a message with a moment, stored now and sent then, without a model.

_MAX_DELAY_MINUTES: Final = 5 * 366 * 24 * 60


def plan_reminder(
    arguments: Remind, *, butler: str, channels: KnownChannels, reminder_id: str, now_us: int
) -> Appointment:
    """Raises ValidationError: what could not be sent then is refused now."""
    due = due_at_us(arguments, now_us)
    notify = made(
        Notify,
        channel=arguments.channel,
        message=arguments.message,
        recipient=arguments.recipient,
        subject=arguments.subject,
        intent="reply" if arguments.request_context is not None else "send",
        request_context=arguments.request_context,
        format=arguments.format,
    )
    envelope = notify_document(read_arguments(notify, origin_butler=butler, channels=channels))
    work: Document = {**envelope["delivery"], "request_context": envelope.get("request_context")}
    return Appointment(
        id=reminder_id,
        butler=butler,
        kind=AppointmentKind.REMINDER,
        name="reminder",
        due_at_us=due,
        work=json.dumps({"notify": {name: value for name, value in work.items() if value is not None}}),
        created_at_us=now_us,
    )


def due_at_us(arguments: Remind, now_us: int) -> int:
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


def scheduled_answer(reminder: Appointment) -> Document:
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


@asynccontextmanager
async def heartbeats(butler: Butler, registry: Registry, endpoint_url: str, loops: Loops) -> AsyncIterator[None]:
    """The first one at once. A store that is away is the loop's to try again."""
    tried = asyncio.Event()

    async def look() -> int:
        now_us, config = butler.clock.now_us(), butler.config
        try:
            await registry.register(
                Registration(
                    name=butler.name,
                    endpoint_url=endpoint_url,
                    description=config.butler.description,
                    modules=tuple(config.modules),
                    last_seen_at_us=now_us,
                )
            )
        finally:
            tried.set()
        return now_us + seconds(_INTERVAL_SECONDS)

    async with loops.running(f"heartbeat:{butler.name}", look):
        await tried.wait()
        yield


# The tools every butler has, and the server that holds them.


MESSAGE_ACTS: Final = (Notify, NotifyStatus, Revise, Recall, Remind)
CORE_TOOL_NAMES: Final = tuple(
    kind.declared.tool.name for kind in (*MESSAGE_ACTS, *CORE_ACTS, TakeRoute) if kind.declared.tool
)

_A_PERSONS: Final = "is for people: at the API port with their own token, in the console or as `postroom attention`"
_BY_PEOPLE: Final = {name: f"{name} {_A_PERSONS}." for name in ("ack", "snooze", "mute", "away")}
_CHANGES_NO_QUESTION: Final = "take the question back with cancel_ask and ask anew, or POST /v1/asks/{ask_id}/revise"
ELSEWHERE: Final = {
    **_BY_PEOPLE,
    "withdraw": "There is no withdraw any more: recall takes back what waits, too, by its notice_id.",
    "schedule_list": "There is no schedule_list any more: status says what is done by the clock.",
    "answers": "Call wait with the ask_id; what ended meanwhile, answers tells at the API port (or GET /v1/answers).",
    "revise_ask": f"There is no revise_ask any more: {_CHANGES_NO_QUESTION}.",
    "permission_prompt": "permission_prompt is for coding agents, at the API port.",
}
ASSISTANTS_ELSEWHERE: Final = {
    "away": f"away {_A_PERSONS}; over HTTP it is POST /v1/people/{{person}}/away.",
    "withdraw": "There is no withdraw any more: recall takes a notice back, and so does POST /v1/notices/withdraw.",
    "revise_ask": ELSEWHERE["revise_ask"],
}
_AT_BUTLERS: Final = (
    *("trigger", "state_get", "state_set", "state_delete", "state_list", "sessions_list", "sessions_get"),
    *("sessions_stop", "ask", "wait", "cancel_ask", "remind"),
)


def _left_to_butlers(only: str, names: Iterable[str] = _AT_BUTLERS) -> dict[str, str]:
    """Of a server that has its own work alone."""
    return {name: f"{only}; call {name} at a butler's own server, such as general's." for name in names}


ELSEWHERE_THAN_SWITCHBOARD: Final = {
    **ELSEWHERE,
    **_left_to_butlers("The switchboard only routes", (*_AT_BUTLERS, "notify_status", "revise", "recall")),
    "route.execute": "The switchboard takes no route; route names another butler.",
}
ELSEWHERE_THAN_MESSENGER: Final = {
    **ELSEWHERE,
    **_left_to_butlers("The messenger only delivers and keeps no appointments"),
    "status": "The messenger's own health is at GET /health of its port; messenger_queue_depth says what waits.",
    "notify_status": "messenger_delivery_status says more, of every delivery.",
    "revise": "revise_delivery changes any delivery.",
    "recall": "recall_delivery takes any delivery back.",
}


def build_server(one: Butler) -> GuardedServer:
    server = GuardedServer(one.name, ToolPolicy({}, one.verifier), description=one.config.butler.description)
    add_message_tools(server, one, MESSAGE_ACTS)
    add_tools(server, (*CORE_ACTS, TakeRoute), one, butler=one.name)
    server.point_elsewhere(ELSEWHERE)
    return server


def add_message_tools(server: GuardedServer, one: Butler, acts: Sequence[type[Act[Any]]]) -> None:
    """They speak in the butler's name, so they are its own."""
    add_tools(server, acts, one, {"channels": channel_words(one.notifier.channels)})
    server.policy.allow({kind.declared.tool.name: butler(one.name) for kind in acts if kind.declared.tool})
