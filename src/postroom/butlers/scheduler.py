"""Keeps a butler's appointments: reminders and the runs of its schedules."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from zoneinfo import ZoneInfo

import structlog

from postroom.butlers.model import BROKEN, Appointment, AppointmentKind, AppointmentStatus
from postroom.butlers.store import StoredAppointments
from postroom.kernel.running.clock import Clock
from postroom.kernel.running.loop import Signal
from postroom.kernel.values.errors import PostroomError
from postroom.kernel.values.ids import seconds, to_datetime, to_us
from postroom.message.outgoing import AnswerStatus, Outcome
from postroom.settings.roster import Schedule

_log = structlog.get_logger("postroom.scheduler")

_PAUSE_SECONDS: Final = 2.0
_LONGEST_SLEEP_SECONDS: Final = 60.0  # a machine that was asleep, or whose clock was set, has slept for another time
_LONGEST_PAUSE_SECONDS: Final = 300.0
_MAX_TRIES: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What came of an appointment, and the words it is noted with."""

    status: AppointmentStatus
    result: str
    retryable: bool = False


def next_run_us(schedule: Schedule, after_us: int) -> int:
    """The first moment later than `after_us`, by the clock on the wall in the schedule's own zone."""
    from croniter import croniter  # few households have schedules

    local = to_datetime(after_us).astimezone(ZoneInfo(schedule.timezone))
    upcoming = croniter(schedule.cron, local).get_next(type(local))
    return to_us(upcoming)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduler:
    """
    Each run carries a key of its own, so a run that was begun before a crash and
    is begun again after it sends its message once.
    """

    butler: str
    schedules: Sequence[Schedule]
    appointments: StoredAppointments
    clock: Clock
    mint: Callable[[int], str]
    notify: Callable[[Mapping[str, Any]], Awaitable[Outcome]]  # with arguments as they were stored
    trigger: Callable[[str, str], Awaitable[object]]
    changed: Signal = field(default_factory=Signal)

    async def remember(self, reminder: Appointment) -> None:
        await self.appointments.add(reminder)
        self.changed.ring()

    async def start(self) -> None:
        now = self.clock.now_us()
        await self.appointments.keep_schedules([self._next(schedule, now) for schedule in self.schedules])

    async def look(self) -> int | None:
        """Keeps what is due; returns when to look next, None while there is nothing until it is `changed`."""
        for one in await self.appointments.due(self.clock.now_us()):
            if one is not None:
                await self._keep(one)
            else:  # it may have been the next run of a schedule
                await self.start()
        wake_at = await self.appointments.next_due_us()
        if wake_at is None:
            return None
        return min(wake_at, self.clock.now_us() + seconds(_LONGEST_SLEEP_SECONDS))

    async def _keep(self, one: Appointment) -> None:
        try:
            run = await self._carry_out(one)
        except PostroomError as error:
            run = _failed(error.message, retryable=error.retryable)
        except Exception as error:  # the others wait behind this one
            _log.error("appointment.broken", butler=self.butler, id=one.id, error=type(error).__name__)
            run = Run(status=AppointmentStatus.FAILED, result=BROKEN)
        if run.retryable and one.tries < _MAX_TRIES:
            pause = min(_PAUSE_SECONDS * 2.0 ** min(one.tries, 10), _LONGEST_PAUSE_SECONDS)
            await self.appointments.postpone(one, self.clock.now_us() + seconds(pause), run.result)
            return
        await self.appointments.finish(one, run.status, run.result, self._following(one))

    async def _carry_out(self, one: Appointment) -> Run:
        work = json.loads(one.work)
        if "prompt" in work:
            await self.trigger(str(work["prompt"]), f"schedule:{one.name}")
            return Run(status=AppointmentStatus.DONE, result=str(AnswerStatus.ACCEPTED))
        asked = {**work["notify"], "idempotency_key": f"{one.kind}:{one.id}", "wait_seconds": 5}
        return _sent(await self.notify(asked))

    def _following(self, one: Appointment) -> Appointment | None:
        """After a time away a schedule runs once and goes on from now: it does not catch up run by run."""
        for schedule in self.schedules:
            if one.kind is AppointmentKind.SCHEDULE and schedule.name == one.name:
                return self._next(schedule, self.clock.now_us())
        return None

    def _next(self, schedule: Schedule, now_us: int) -> Appointment:
        return Appointment(
            id=self.mint(now_us),
            butler=self.butler,
            kind=AppointmentKind.SCHEDULE,
            name=schedule.name,
            due_at_us=next_run_us(schedule, now_us),
            work=_schedule_work(schedule),
            created_at_us=now_us,
        )


def _schedule_work(schedule: Schedule) -> str:
    """Says when as well as what, so that a change of either in the file is noticed."""
    work: dict[str, Any] = {"cron": schedule.cron, "timezone": schedule.timezone}
    if schedule.notify is not None:
        work["notify"] = schedule.notify.model_dump(exclude_none=True)
    else:
        work["prompt"] = schedule.prompt
    return json.dumps(work, ensure_ascii=False, sort_keys=True)


def _sent(outcome: Outcome) -> Run:
    if outcome.error is not None:
        return _failed(outcome.error.message, retryable=outcome.retryable)
    return Run(status=AppointmentStatus.DONE, result=str(outcome.status))


def _failed(message: str, *, retryable: bool = False) -> Run:
    return Run(status=AppointmentStatus.FAILED, result=f"error: {message}", retryable=retryable)
