"""What is left of a long past is found along an index, and who answered before the upgrade is found after it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
from alembic import command
from benchmarks.growth_fill import lengthen
from benchmarks.growth_rows import FILLINGS
from sqlalchemy import Connection
from tests.opened_database import KINDS, opened_database
from tests.world.store.migrations.filled import fill
from tests.world.store.migrations.planned import Work, planned

from postroom.domain.audit import AuditKind, AuditQuery
from postroom.domain.enquiry import DeadLetterQuery
from postroom.domain.inbox_view import Shelf
from postroom.domain.retention import Retention
from postroom.world.store.deliveries.dead_letters import matching
from postroom.world.store.engine import migrate
from postroom.world.store.engine.database import Database
from postroom.world.store.engine.postgres import PostgresDatabase
from postroom.world.store.engine.sqlite import SqliteDatabase
from postroom.world.store.inbox.inbox import unread
from postroom.world.store.inbox.views import _page, _people
from postroom.world.store.questions.figures import waiting_for
from postroom.world.store.retention.records import STALE
from postroom.world.store.shared.audit import StoredAudit, _entries

NOW_US = time.time_ns() // 1_000_000 * 1000
ANNS = AuditQuery(limit=50, actors=("person:p1",))
ANSWERED = [
    {"id": "1", "status": "answered", "ended_at": 5, "answered_by": '{"person_id":"ann","channel":"telegram"}'},
    {"id": "2", "status": "open", "ended_at": None, "answered_by": None},
]
TABLES = {one.table for one in FILLINGS}
ALL_OLD = Retention(settled_before_us=NOW_US, now_us=NOW_US)


def shelved(connection: Connection, shelf: Shelf) -> None:
    connection.execute(_page("p1", shelf, after=None, limit=50, now_us=NOW_US)).all()


def undecided(connection: Connection) -> None:
    connection.execute(matching(DeadLetterQuery())).all()


def facts(connection: Connection) -> None:
    next(one for one in STALE if one.name == "facts about notices").remove(connection, ALL_OLD, 10)


CASES: list[tuple[str, Work]] = [
    ("ix_audit_entries_kind", partial(_entries, query=AuditQuery(limit=50, kind=AuditKind.DECISION))),
    ("ix_delivery_dead_letter_undecided", undecided),
    ("ix_notifications_archived", partial(shelved, shelf=Shelf.ARCHIVED)),
    ("ix_notifications_dismissed", partial(shelved, shelf=Shelf.DISMISSED)),
    ("ix_notifications_unread", partial(unread, user_id="p1", now_us=NOW_US)),
    ("ix_questions_status_id", partial(waiting_for, person_id="p1")),
    ("ix_notifications_user_id", lambda connection: connection.execute(_people()).all()),
    ("attention_log", facts),
]


@pytest.fixture(params=KINDS)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with opened_database(request.param, tmp_path, request) as one:
        await lengthen(one, 2_000, NOW_US // 1000)
        yield one


async def test_nothing_of_it_is_read_whole(database: Database) -> None:
    for index, work in CASES:
        plan = await database.write(partial(planned, work=work))

        assert index in plan, plan
        assert not [
            one for one in FILLINGS if f"SCAN main.{one.table}\n" in plan or f"Seq Scan on {one.table} " in plan
        ]


def written_before(connection: Connection) -> None:
    config = migrate._config()
    config.attributes["connection"] = connection
    command.upgrade(config, "0031")
    fill(connection, {"questions": ANSWERED}, rows=0, only={"questions"})


def _postgres(request: pytest.FixtureRequest) -> PostgresDatabase:
    return PostgresDatabase(request.getfixturevalue("new_postgres_url"))


@pytest.mark.parametrize("kind", KINDS)
async def test_who_answered_before_the_upgrades_is_in_the_audit_after_them(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    database: Database = SqliteDatabase(tmp_path / "postroom.db") if kind == "sqlite" else _postgres(request)
    try:
        await database.write(written_before)
        await database.migrate()
        found = await StoredAudit(database, str).page(AuditQuery(limit=10))
    finally:
        await database.close()

    assert [(one.actor, one.act, one.subject, one.door) for one in found] == [
        ("person:ann", "answered a question", "question:1", "telegram")
    ]
