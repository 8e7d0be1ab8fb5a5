"""The store of a household: opened, served from, and with rows that cannot be read."""

from __future__ import annotations

import asyncio
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from postroom.cli.doctor.checks import look_at_butlers
from postroom.cli.up import remember_address
from postroom.delivery.rules import limits
from postroom.delivery.store.limits import MemoryLimits
from postroom.delivery.store.tables import delivery_requests
from postroom.household.console_pages import approvals_desk
from postroom.household.delivery import opened_lookups, settled_elsewhere
from postroom.household.people import knowing_people
from postroom.household.store import open_store
from postroom.inbox.model import NewNotification
from postroom.kernel.guard.tools import approver
from postroom.kernel.running.clock import SystemClock
from postroom.kernel.values.ids import DeliveryId, seconds
from postroom.kernel.values.principal import HOUSEHOLD_OWNER, OPERATOR, Principal, Role
from postroom.message.delivery import Intent
from postroom.people.model import NewPerson, PersonRole
from postroom.settings import Settings
from tests.clock import FakeClock
from tests.delivery.world import Parts, generous, living_world
from tests.household.asked_household import letter
from tests.household.living import LIFTED, QUICK, living, settings_for
from tests.household.talking import SECONDS, Talking, script, talking
from tests.patience import PATIENCE_SECONDS
from tests.support.worlds import world_of


# Who may decide: those the settings name, and those who have the role, as soon as they have it.
@pytest.mark.requirement("house:approver-role")
async def test_a_person_decides_from_the_moment_the_role_is_given_until_it_is_taken(
    tmp_path: Path, clock: FakeClock
) -> None:
    settings = Settings.model_validate({"home": tmp_path, "approvals": {"approvers": ["ben"]}})
    async with open_store(settings) as store:
        world = world_of(settings, store, clock=clock)
        ann = await store.people.create(HOUSEHOLD_OWNER, NewPerson(name="Ann"), source="api", now_us=1)
        person, program = Principal(Role.PERSON, ann.id), Principal(Role.PROGRAM, ann.id, person=ann.id)
        async with knowing_people(world):
            may_decide = approver(world.approvers)
            allowed = [may_decide(person)]
            for role in (PersonRole.APPROVER, PersonRole.MEMBER):
                await store.people.change(
                    HOUSEHOLD_OWNER, ann.id, lambda one, new=role: replace(one.as_written, role=new), now_us=2
                )
                allowed.append(may_decide(person))

            assert allowed == [False, True, False]
            assert not may_decide(program)
            assert may_decide(Principal(Role.USER, "ben"))
            assert list(world.approvers) == ["ben"]
            assert len(world.approvers) == 1


def _set_clock(monkeypatch: pytest.MonkeyPatch, off_seconds: float) -> SystemClock:
    """The machine's is off; what is answered is right."""
    right = SystemClock.now_us
    true = type("True time", (SystemClock,), {"now_us": right})()
    monkeypatch.setattr(SystemClock, "now_us", lambda clock: right(clock) + seconds(off_seconds))
    return true


@pytest.mark.parametrize("off_seconds", [30.0, -30.0], ids=["ahead", "behind"])
async def test_a_machine_whose_clock_is_off_reads_leases_by_that_of_the_database(
    home: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch, off_seconds: float
) -> None:
    true = _set_clock(monkeypatch, off_seconds)

    async with living(home, LIFTED, QUICK, {"database_url": postgres_url}) as alive:
        assert abs(alive.household.loops.clock.now_us() - true.now_us()) < seconds(5)


async def test_a_machine_with_a_database_of_its_own_has_its_own_clock(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = _set_clock(monkeypatch, 30.0)

    async with living(home, LIFTED, QUICK) as alive:
        assert alive.household.loops.clock.now_us() - true.now_us() > seconds(25)


# A row that cannot be read stops nothing but itself, and doctor names it.
SESSION = (
    "INSERT INTO sessions (id, butler, runtime, trigger_source, caller, request_context, prompt, depth, status,"
    " attempt, crashes, created_at) VALUES ('0', 'general', 'codex', 'trigger', 'operator', '{\"source', 'x', 0, ?,"
    " 0, 0, 1)"
)
APPOINTMENT = (
    "INSERT INTO appointments (id, butler, kind, name, due_at, work, status, tries, created_at)"
    " VALUES (?, 'health', ?, 'reminder', CAST(strftime('%s') AS INTEGER) * 1000000, ?, 'waiting', 0, 1)"
)


def spoil(home: Path, statement: str, *values: str) -> None:
    with sqlite3.connect(home / "postroom.db") as connection:
        connection.execute(statement, values)


async def results(house: Talking) -> dict[str, str]:
    async with asyncio.timeout(SECONDS):
        while {one["status"] for one in house.rows("appointments")} != {"failed", "done"}:
            await asyncio.sleep(0.05)
    return {one["id"]: one["result"] for one in house.rows("appointments")}


async def test_sessions_and_reminders_go_on_past_a_row_that_cannot_be_read(home: Path, tmp_path: Path) -> None:
    async with talking(home, tmp_path) as house:
        assert await look_at_butlers(house.settings) == []
        spoil(home, SESSION, "queued")
        spoil(home, APPOINTMENT, "odd", "odd", "{}")
        spoil(home, APPOINTMENT, "torn", "reminder", "{")

        await house.write(2001, "/general " + script(say="At noon."))
        reminder = {"channel": "telegram", "message": "Drink", "delay_minutes": 0.0001}
        await house.call("health", "remind", reminder)

        assert [one["text"] for one in await house.said(2001)] == ["At noon."]
        kept = await results(house)
        [finding] = await look_at_butlers(house.settings)
        listed = await house.call("general", "sessions_list", {})

    assert kept.pop("odd") == "it cannot be read and was set aside"
    assert kept.pop("torn") == "error: it cannot be carried out"
    assert list(kept.values()) == ["ok"]
    assert not finding.ok and finding.subject == "butlers"
    assert "appointment odd of health, appointment torn of health, session 0 of general" in finding.detail
    assert [one["status"] for one in listed["sessions"]] == ["done"]


BROKEN = "CAST(x'7bff' AS TEXT)"
NESTED = f"'{'[' * 50_000}'"
ENDLESS = "9e999"


@pytest.mark.parametrize(("column", "value"), [("name", BROKEN), ("work", BROKEN), ("tries", ENDLESS)])
async def test_a_reminder_is_kept_beside_one_whose_row_is_broken(
    home: Path, tmp_path: Path, column: str, value: str
) -> None:
    async with talking(home, tmp_path) as house:
        spoil(home, APPOINTMENT.replace("'waiting'", "'later'"), "odd", "reminder", "{}")
        spoil(home, f"UPDATE appointments SET {column} = {value}, status = 'waiting'")

        await house.call("health", "remind", {"channel": "telegram", "message": "Drink", "delay_minutes": 0.0001})

        async with asyncio.timeout(SECONDS):
            while [one["text"] for one in await house.received()] != ["Drink"]:
                await asyncio.sleep(0.05)
        [finding] = await look_at_butlers(house.settings)

    assert "appointment odd of health" in finding.detail


@pytest.mark.parametrize("status", ["queued", "running"])
@pytest.mark.parametrize(("column", "value"), [("prompt", BROKEN), ("request_context", NESTED)])
async def test_a_session_begins_beside_one_whose_row_is_broken(
    home: Path, tmp_path: Path, column: str, value: str, status: str
) -> None:
    async with talking(home, tmp_path):
        pass
    spoil(home, SESSION, status)
    spoil(home, f"UPDATE sessions SET {column} = {value}")

    async with talking(home, tmp_path) as house:
        await house.write(2001, "/general " + script(say="At noon."))

        assert [one["text"] for one in await house.said(2001)] == ["At noon."]
        [finding] = await look_at_butlers(house.settings)

    assert "session 0 of general" in finding.detail


async def test_a_household_starts_beside_a_running_session_that_cannot_be_read(home: Path, tmp_path: Path) -> None:
    async with talking(home, tmp_path):
        pass
    spoil(home, SESSION, "running")

    async with talking(home, tmp_path) as house:
        await house.write(2001, "/general " + script(say="At noon."))

        assert [one["text"] for one in await house.said(2001)] == ["At noon."]


# What is told of a message from outside its household is what the household goes by.
PATIENT = {"retry": {"base_seconds": 600, "jitter": 0, "max_attempts": 3, "attempts_by_priority": {"high": 7}}}


async def test_attempts_are_counted_against_those_of_the_messages_own_priority(home: Path) -> None:
    async with living(home, PATIENT) as household:
        await household.fault(channel="telegram", times=1, status=503)
        answer = await household.notify(priority="high", wait_seconds=1)

        async with opened_lookups(household.settings) as view:
            (told,) = await view.why(answer["delivery"]["delivery_id"])

    assert "Attempt 1 of 7" in told.why


async def test_a_note_is_explained_by_its_own_id(home: Path) -> None:
    async with living(home) as household:
        assert household.household.inbox is not None
        note = await household.household.inbox.send(NewNotification(message="Tea is ready", user_id="ada"))

        async with opened_lookups(household.settings) as view:
            (told,) = await view.why(note["notification_id"])

    assert told.id == note["notification_id"]
    assert told.why.startswith("It is a note in the inbox of ada, stored ")
    assert told.why.endswith("It has no e-mail copy: the person wants no e-mail.")
    assert "Tea" not in told.why


@pytest.mark.parametrize("named", [True, False], ids=["a notice names it", "notices were missed"])
async def test_a_place_in_flight_is_free_again(tmp_path: Path, clock: FakeClock, named: bool) -> None:
    own = MemoryLimits(clock)
    async with living_world(tmp_path / "p.db", clock, Parts(policy=generous(), limits=own)) as world:
        over = DeliveryId((await world.send())["delivery"]["delivery_id"])
        for lease_id in (over, "still under way"):
            await own.admit(
                limits.admission(
                    world.plane.acceptance.policy.limits,
                    lease_id=lease_id,
                    channel="telegram",
                    intent=Intent.SEND,
                    address="1000",
                )
            )

        await settled_elsewhere(world.plane, world.database, own)([over] if named else None)

        assert own.held == ["still under way"]


async def test_whoever_waits_for_a_delivery_that_was_taken_over_hears_how_it_ended_and_its_place_is_free(
    tmp_path: Path, clock: FakeClock
) -> None:
    """The notice came while we still believed that it was ours; whoever settled it has places of its own."""
    async with living_world(tmp_path / "p.db", clock, Parts(policy=generous())) as world:
        gate = asyncio.Event()
        world.telegram.script.append(gate)
        caller = world.start_sending(wait_seconds=600)
        await world.telegram.called(1)
        ours = DeliveryId((await world.row())["id"])
        assert world.limits.held == [ours]
        taken = delivery_requests.update().values(fence=2, status="delivered", sending=False, provider_delivery_id="9")
        await world.database.write(lambda connection: connection.execute(taken))
        await settled_elsewhere(world.plane, world.database, world.limits)([ours])
        gate.set()
        await world.idle()

        answer = await asyncio.wait_for(caller, PATIENCE_SECONDS)
        assert (answer["status"], answer["delivery"]["provider_delivery_id"]) == ("ok", "9")
        assert world.limits.held == []


# The inbox of a whole household: from an agent's call to the mail in a mailbox.
@pytest.mark.requirement("inbox:side-effect-email")
async def test_in_a_fresh_household_a_note_reaches_the_mailbox_of_somebody_who_asked_for_that(
    home: Path,
) -> None:
    await remember_address(settings_for(home), "ada", "ada@example.com")
    async with living(home, only=("sandbox", "messenger", "api")) as house:
        ada, wished = Principal(Role.USER, "ada"), {"delivery_channel": "both"}
        assert (await house.api("PUT", "/notifications/preferences", wished, who=ada))[0] == 200
        assert house.household.inbox is not None
        sent = await house.household.inbox.send(NewNotification(message="Dentist at nine", user_id="ada"))
        mail = await letter(house, "Dentist at nine")

    assert sent["success"]
    assert mail["subject"] == "Info: Dentist at nine"


# Whose desk it is: the console opens what waits for a decision to those who may decide.
ANN, BOB = Principal(Role.USER, "ann"), Principal(Role.USER, "bob")
OWNER, CI = Principal(Role.PERSON, "owner"), Principal(Role.PROGRAM, "ann", person="owner")
BUTLER = Principal(Role.BUTLER, "ann")  # a name alone makes nobody a person


@pytest.mark.parametrize(
    ("approvers", "allowed"),
    [([], {OPERATOR, OWNER}), (["ann"], {OPERATOR, OWNER, ANN})],
    ids=["none named", "ann named"],
)
async def test_every_page_of_approvals_is_open_to_those_who_may_decide(
    tmp_path: Path, approvers: list[str], allowed: set[Principal]
) -> None:
    settings = Settings.model_validate({"home": tmp_path, "approvals": {"enabled": True, "approvers": approvers}})

    async with open_store(settings) as store:
        pages = approvals_desk(world_of(settings, store), None).section.pages

    assert len(pages) > 5
    for page in pages:
        assert {one for one in (OPERATOR, OWNER, ANN, BOB, CI, BUTLER) if page.open_to(one)} == allowed, page.path
