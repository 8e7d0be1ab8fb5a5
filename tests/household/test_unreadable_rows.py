"""A row that cannot be read stops nothing but itself, and doctor names it."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest

from postroom.cli.doctor.checks import look_at_butlers
from tests.household.talking import SECONDS, Talking, script, talking

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


@pytest.mark.asyncio
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
    assert kept.pop("torn") == "error: it cannot be carried out (JSONDecodeError)"
    assert list(kept.values()) == ["ok"]
    assert not finding.ok and finding.subject == "butlers"
    assert "appointment odd of health, appointment torn of health, session 0 of general" in finding.detail
    assert [one["status"] for one in listed["sessions"]] == ["done"]


BROKEN = "CAST(x'7bff' AS TEXT)"
NESTED = f"'{'[' * 50_000}'"
ENDLESS = "9e999"


@pytest.mark.asyncio
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


@pytest.mark.asyncio
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


@pytest.mark.asyncio
async def test_a_household_starts_beside_a_running_session_that_cannot_be_read(home: Path, tmp_path: Path) -> None:
    async with talking(home, tmp_path):
        pass
    spoil(home, SESSION, "running")

    async with talking(home, tmp_path) as house:
        await house.write(2001, "/general " + script(say="At noon."))

        assert [one["text"] for one in await house.said(2001)] == ["At noon."]
