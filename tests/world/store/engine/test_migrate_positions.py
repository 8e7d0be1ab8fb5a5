"""What was written before there were places gets one: events in the order of their ids, members as they joined."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from sqlalchemy import Connection, select, text, update
from tests.opened_database import KINDS
from tests.world.store.intent_hosts import ANN, BOB, CLEO, NOW, Host

from postroom.domain.ids import IdMint
from postroom.domain.intent import Step, StepKind
from postroom.world.store.engine import migrate
from postroom.world.store.engine.database import Database
from postroom.world.store.engine.postgres import PostgresDatabase
from postroom.world.store.engine.sqlite import SqliteDatabase
from postroom.world.store.intents.rows import event_row, intent_row
from postroom.world.store.intents.threads import StoredInbox
from postroom.world.store.tables.intents import intent_events, intent_members, intents

DAN = "agent://x/dan"
HALF = "\ud800 and \x00"


def upgrade_to_the_version_before(connection: Connection) -> None:
    config = migrate._config()
    config.attributes["connection"] = connection
    command.upgrade(config, "0008")


def add(connection: Connection, table: str, **values: Any) -> None:
    schema = "shared." if connection.dialect.name == "postgresql" else ""
    places = ", ".join(f":{name}" for name in values)
    connection.execute(text(f"INSERT INTO {schema}{table} ({', '.join(values)}) VALUES ({places})"), values)


def add_intent(connection: Connection, host: Host, members: list[str], **more: Any) -> str:
    change = host.new(**more)
    add(connection, "intents", **intent_row(change.intent))
    for event in change.events:
        add(connection, "intent_events", **event_row(event))
    for agent in members:
        add(connection, "intent_members", agent=agent, intent_id=change.intent.id)
    return change.intent.id


def add_event(connection: Connection, event_id: str, intent_id: str, seq: int, kind: str, **payload: str) -> None:
    written = json.dumps(payload, separators=(",", ":"))
    values = {"intent_id": intent_id, "seq": seq, "id": event_id, "event_type": kind, "payload": written}
    add(connection, "intent_events", **values, status="SUBMITTED", at=NOW)


async def opened_before(kind: str, folder: Path, request: pytest.FixtureRequest) -> Database:
    database: Database = (
        SqliteDatabase(folder / "before.db")
        if kind == "sqlite"
        else PostgresDatabase(request.getfixturevalue("new_postgres_url"))
    )
    await database.write(upgrade_to_the_version_before)
    return database


@pytest.mark.parametrize("kind", KINDS)
async def test_what_was_written_before_has_its_place(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    database = await opened_before(kind, tmp_path, request)
    made: dict[str, str] = {}
    ids = IdMint()
    late, early = Host(database, clock_us=NOW + 5_000_000), Host(database, clock_us=NOW)

    def write(connection: Connection) -> None:
        made["late"] = add_intent(connection, late, [ANN, BOB])
        made["old"] = add_intent(connection, early, [ANN, BOB, CLEO, DAN], reply_to=BOB)
        made["asked"] = add_intent(connection, early, [CLEO, BOB], to=CLEO)
        moments = (ids.mint(NOW + second * 1_000_000) for second in (1, 2, 3, 4))
        add_event(connection, next(moments), made["old"], 3, "intent.transfer", delegate_to=CLEO, note=HALF)
        add_event(connection, next(moments), made["old"], 4, "intent.escalated", to_agent=DAN)
        add_event(connection, next(moments), made["old"], 5, "intent.transfer", delegate_to=CLEO, note="again")
        add_event(connection, next(moments), made["old"], 6, "intent.transfer", delegate_to=ANN, note="back")

    try:
        await database.write(write)
        await database.migrate()

        assert await database.read(placed_events) == [
            *[(made["old"], 1), (made["old"], 2), (made["asked"], 1), (made["asked"], 2)],
            *[(made["old"], 3), (made["old"], 4), (made["old"], 5), (made["old"], 6)],
            *[(made["late"], 1), (made["late"], 2)],
        ]
        assert await database.read(placed_members) == {
            (ANN, made["late"]): 10,
            (BOB, made["late"]): 10,
            (ANN, made["old"]): 2,
            (BOB, made["old"]): 2,
            (CLEO, made["old"]): 5,
            (DAN, made["old"]): 6,
            (CLEO, made["asked"]): 4,
            (BOB, made["asked"]): 4,
        }
        found = await StoredInbox(database).arrived(CLEO, after=made["asked"], limit=10)
        assert [one.id for _, one in found] == [made["old"]]
        new = await early.ask()
        assert (await database.read(placed_events))[10:] == [(new.id, 1), (new.id, 2)]
    finally:
        await database.close()


@pytest.mark.parametrize("kind", KINDS)
async def test_whoever_is_asked_with_others_by_an_open_intent_of_before_finds_it(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """So far one became a member with the first event after one was asked; now it is when the intent is stored."""
    database = await opened_before(kind, tmp_path, request)
    host = Host(database)
    made: dict[str, str] = {}
    plan = (*(Step(StepKind.ASK, NOW, one) for one in (ANN, CLEO, CLEO)), Step(StepKind.ESCALATE, NOW, DAN))

    def write(connection: Connection) -> None:
        made["open"] = add_intent(connection, host, [ANN, BOB], plan=plan)
        made["over"] = add_intent(connection, host, [ANN, BOB], plan=plan)
        connection.execute(update(intents).where(intents.c.id == made["over"]).values(status="COMPLETED"))

    try:
        await database.write(write)
        await database.migrate()

        members = await database.read(placed_members)
        found = {agent: place for (agent, one), place in members.items() if one == made["open"]}
        assert found == {ANN: 2, BOB: 2, CLEO: 2}
        assert {agent for agent, one in members if one == made["over"]} == {ANN, BOB}
    finally:
        await database.close()


def placed_events(connection: Connection) -> list[tuple[str, int]]:
    table = intent_events.c
    rows = connection.execute(select(table.intent_id, table.seq, table.position).order_by(table.position)).all()
    assert [row.position for row in rows] == list(range(1, len(rows) + 1))
    return [(row.intent_id, row.seq) for row in rows]


def placed_members(connection: Connection) -> dict[tuple[str, str], int]:
    rows = connection.execute(select(intent_members)).all()
    return {(row.agent, row.intent_id): row.position for row in rows}
