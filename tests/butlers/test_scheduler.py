"""A butler keeps its appointments, once each, whatever happens in between."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.clock import FakeClock
from tests.opened_database import opened_file
from tests.patience import PATIENCE_SECONDS
from tests.support.counted import CountedLoops

from postroom.butlers.model import BROKEN, Appointment, AppointmentKind, AppointmentStatus
from postroom.butlers.scheduler import Scheduler, next_run_us
from postroom.butlers.store import StoredAppointments
from postroom.kernel.database.engine import Database
from postroom.kernel.values.errors import OverloadRejected, TargetUnavailable, ValidationError
from postroom.kernel.values.ids import IdMint, parse_text, seconds, to_text
from postroom.message.outgoing import AnswerStatus, Outcome, refused
from postroom.settings.roster import NotifyTask, Schedule


@pytest.mark.parametrize(
    ("cron", "zone", "after", "due"),
    [
        pytest.param("0 9 * * *", "UTC", "2026-11-15T08:59:59Z", "2026-11-15T09:00:00", id="later-today"),
        pytest.param("0 9 * * *", "UTC", "2026-11-15T09:00:00Z", "2026-11-16T09:00:00", id="never-the-same-moment"),
        pytest.param("30 7 * * 1", "Europe/Berlin", "2026-07-01T00:00:00Z", "2026-07-06T05:30:00", id="summer-time"),
        pytest.param("30 7 * * 1", "Europe/Berlin", "2026-12-01T00:00:00Z", "2026-12-07T06:30:00", id="winter-time"),
        pytest.param("*/15 * * * *", "Asia/Kolkata", "2026-01-01T00:07:00Z", "2026-01-01T00:15:00", id="half-hour"),
        pytest.param("0 0 29 2 *", "UTC", "2026-03-01T00:00:00Z", "2028-02-29T00:00:00", id="leap-day"),
    ],
)
def test_the_wall_clock_of_the_zone_decides(cron: str, zone: str, after: str, due: str) -> None:
    schedule = Schedule(name="a", cron=cron, timezone=zone, prompt="x")

    assert to_text(next_run_us(schedule, parse_text(after))).startswith(due)


# Appointments are kept, once each, whatever happens in between.

DAILY = Schedule(name="daily", cron="0 9 * * *", notify=NotifyTask(channel="telegram", message="Good morning"))


class Desk:
    """Where a butler's work arrives; answers as it was told to, then with `ok`."""

    def __init__(self, *answers: Outcome) -> None:
        self.answers = list(answers)
        self.sent: list[Mapping[str, Any]] = []
        self.prompts: list[tuple[str, str]] = []
        self.arrived = asyncio.Event()

    async def notify(self, arguments: Mapping[str, Any]) -> Outcome:
        self.sent.append(arguments)
        self.arrived.set()
        return self.answers.pop(0) if self.answers else Outcome(status=AnswerStatus.OK, request_id=None)

    async def trigger(self, prompt: str, source: str) -> None:
        self.prompts.append((prompt, source))
        if len(self.prompts) == 1:
            raise OverloadRejected("the queue is full", limit_type="sessions", retry_after_seconds=1)


def scheduler(database: Database, clock: FakeClock, desk: Desk, *schedules: Schedule) -> Scheduler:
    return Scheduler(
        butler="health",
        schedules=schedules,
        appointments=StoredAppointments(database, "health"),
        clock=clock,
        mint=IdMint().mint,
        notify=desk.notify,
        trigger=desk.trigger,
    )


def reminder(clock: FakeClock, delay_seconds: float) -> Appointment:
    return Appointment(
        id="r1",
        butler="health",
        kind=AppointmentKind.REMINDER,
        name="reminder",
        due_at_us=clock.now_us() + seconds(delay_seconds),
        work='{"notify": {"channel": "telegram", "message": "Drink"}}',
        created_at_us=clock.now_us(),
    )


async def keep_due(one: Scheduler) -> None:
    """One look at the book, as `run` does it."""
    for due in await one.appointments.due(one.clock.now_us()):
        await one._keep(due)


async def test_a_reminder_is_sent_once_when_its_time_has_come(database: Database, clock: FakeClock) -> None:
    desk = Desk()
    one = scheduler(database, clock, desk)
    await one.remember(reminder(clock, 60))

    await keep_due(one)
    assert desk.sent == []
    await clock.advance(60)
    await keep_due(one)
    await keep_due(one)

    assert [sent["message"] for sent in desk.sent] == ["Drink"]


async def test_a_reminder_survives_a_restart_and_keeps_its_key(database: Database, clock: FakeClock) -> None:
    await scheduler(database, clock, Desk()).remember(reminder(clock, 60))
    await clock.advance(3600)
    desk = Desk(refused(TargetUnavailable("down")))
    again = scheduler(database, clock, desk)

    await keep_due(again)
    await clock.advance(10)
    await keep_due(again)

    assert [sent["idempotency_key"] for sent in desk.sent] == ["reminder:r1", "reminder:r1"]


async def test_a_final_error_ends_a_reminder(database: Database, clock: FakeClock) -> None:
    desk = Desk(refused(ValidationError("no such contact")))
    one = scheduler(database, clock, desk)
    await one.remember(reminder(clock, 1))
    await clock.advance(2)

    await keep_due(one)
    [ended] = await one.appointments.recent(10)

    assert (ended.status, ended.result) == ("failed", "error: no such contact")


async def test_a_schedule_runs_once_after_a_time_away_and_goes_on_from_now(
    database: Database, clock: FakeClock
) -> None:
    desk = Desk()
    await scheduler(database, clock, desk, DAILY).start()
    await clock.advance(5 * 24 * 3600)
    one = scheduler(database, clock, desk, DAILY)
    await one.start()

    await keep_due(one)
    due = await one.appointments.next_due_us()

    assert [sent["message"] for sent in desk.sent] == ["Good morning"]
    assert due is not None and 0 < due - clock.now_us() <= seconds(24 * 3600)


async def test_a_schedule_that_left_the_file_is_forgotten_and_a_changed_one_is_replaced(
    database: Database, clock: FakeClock
) -> None:
    await scheduler(database, clock, Desk(), DAILY).start()
    changed = DAILY.model_copy(update={"cron": "0 18 * * *"})

    await scheduler(database, clock, Desk(), changed).start()
    waiting = [one for one in await StoredAppointments(database, "health").recent(10) if one.status == "waiting"]
    assert ['"0 18 * * *"' in one.work for one in waiting] == [True]

    await scheduler(database, clock, Desk()).start()
    assert await StoredAppointments(database, "health").recent(10) == []


async def test_a_prompt_that_finds_no_room_is_tried_again(database: Database, clock: FakeClock) -> None:
    desk = Desk()
    one = scheduler(database, clock, desk, Schedule(name="tidy", cron="* * * * *", prompt="Tidy up"))
    await one.start()
    await clock.advance(61)

    await keep_due(one)
    await clock.advance(5)
    await keep_due(one)

    assert desk.prompts == [("Tidy up", "schedule:tidy")] * 2


async def test_an_appointment_nobody_can_read_fails_alone(database: Database, clock: FakeClock) -> None:
    desk = Desk()
    one = scheduler(database, clock, desk)
    await one.remember(replace(reminder(clock, 1), id="r0", work='{"notify": 5}'))
    await one.remember(reminder(clock, 2))
    await clock.advance(3)

    await keep_due(one)

    assert [sent["idempotency_key"] for sent in desk.sent] == ["reminder:r1"]
    results = {kept.id: (str(kept.status), kept.result) for kept in await one.appointments.recent(10)}
    assert results == {"r0": ("failed", BROKEN), "r1": ("done", "ok")}


async def test_the_loop_sleeps_until_the_next_appointment_and_a_new_one_wakes_it(
    tmp_path: Path, clock: FakeClock
) -> None:
    async with opened_file(tmp_path) as database:
        desk = Desk()
        one = scheduler(database, clock, desk)
        async with (
            asyncio.timeout(PATIENCE_SECONDS),
            CountedLoops(clock).running("scheduler", one.look, wake=one.changed),
        ):
            await one.remember(reminder(clock, 30))
            await clock.parked(1)
            await clock.advance(30)
            await desk.arrived.wait()

    assert len(desk.sent) == 1


async def test_a_reminder_is_not_late_by_as_long_as_the_machine_was_asleep(
    database: Database, clock: FakeClock
) -> None:
    desk = Desk()
    one = scheduler(database, clock, desk)
    await one.remember(reminder(clock, 4 * 3600))
    async with asyncio.timeout(PATIENCE_SECONDS), CountedLoops(clock).running("scheduler", one.look, wake=one.changed):
        await clock.parked()
        clock.jump(5 * 3600)
        await clock.advance(120)
        await desk.arrived.wait()


@pytest.mark.parametrize("name", ["health", "general"])
async def test_butlers_do_not_see_each_others_appointments(database: Database, clock: FakeClock, name: str) -> None:
    await scheduler(database, clock, Desk()).remember(reminder(clock, 1))

    seen = await StoredAppointments(database, name).recent(10)

    assert len(seen) == (1 if name == "health" else 0)


async def test_what_an_earlier_run_of_an_appointment_came_to_is_not_written_over_a_later_one(
    database: Database,
) -> None:
    appointments = StoredAppointments(database, "health")
    kind = AppointmentKind.REMINDER
    await appointments.add(
        Appointment(id="a", butler="health", kind=kind, name="a", due_at_us=1, work="{}", created_at_us=1)
    )
    [first] = await appointments.due(1)
    assert first is not None
    await appointments.postpone(first, 2, "not now")

    await appointments.finish(first, AppointmentStatus.DONE, "late", None)
    await appointments.postpone(first, 99, "late as well")

    [kept] = await appointments.recent(10)
    assert (kept.status, kept.due_at_us, kept.tries, kept.result) == (AppointmentStatus.WAITING, 2, 1, "not now")
