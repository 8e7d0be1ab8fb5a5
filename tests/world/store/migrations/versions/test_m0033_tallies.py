"""What was kept before the upgrade is tallied by it, on both databases."""

from __future__ import annotations

from pathlib import Path

import pytest
from alembic import command
from sqlalchemy import Connection
from tests.opened_database import KINDS
from tests.world.store.migrations.filled import fill

from postroom.world.store.attention.attention import StoredNotices
from postroom.world.store.engine import migrate
from postroom.world.store.engine.database import Database
from postroom.world.store.engine.postgres import PostgresDatabase
from postroom.world.store.engine.sqlite import SqliteDatabase

NOTICES = [
    {"id": "1", "person": "ann", "agent": "a", "state": "sent", "open": False},
    {"id": "2", "person": "ann", "agent": "b", "state": "sent", "open": False},
    {"id": "3", "person": "ann", "agent": "a", "state": "held", "open": True},
    {"id": "4", "person": "bob", "agent": "a", "state": "muted", "open": False},
]
LOG = [{"person": one["person"], "seq": int(str(one["id"])), "kind": "NoticeAccepted"} for one in NOTICES]


def written_before(connection: Connection) -> None:
    config = migrate._config()
    config.attributes["connection"] = connection
    command.upgrade(config, "0032")
    fill(connection, {"notices": NOTICES, "attention_log": LOG}, rows=0, only={"notices", "attention_log"})


@pytest.mark.parametrize("kind", KINDS)
async def test_the_tally_begins_with_what_is_there(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    database: Database = (
        SqliteDatabase(tmp_path / "postroom.db")
        if kind == "sqlite"
        else PostgresDatabase(request.getfixturevalue("new_postgres_url"))
    )
    try:
        await database.write(written_before)
        await database.migrate()
        rows, tallied = await StoredNotices(database).counts_twice()
        anns = await StoredNotices(database).counts("ann")
    finally:
        await database.close()

    assert rows == tallied and rows.logged == 4
    assert (anns.states, anns.agents, anns.logged) == ({"held": 1, "sent": 2}, {"a": 2, "b": 1}, 3)
