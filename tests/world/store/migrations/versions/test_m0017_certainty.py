"""What was in doubt before the upgrade is in doubt after it, and all the rest is as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from alembic import command
from sqlalchemy import Connection
from tests.opened_database import KINDS
from tests.world.store.migrations.filled import Rows, everything, fill

from postroom.world.store.engine import migrate
from postroom.world.store.engine.database import Database
from postroom.world.store.engine.postgres import PostgresDatabase
from postroom.world.store.engine.sqlite import SqliteDatabase

NEW = {"doubtful_since", "asked", "conversation", "format", "attachments", "handed_by"}  # the last three later


def delivery(name: str, status: str) -> dict[str, Any]:
    return {"id": name, "status": status, "idempotency_key": name}


def attempt(name: str, number: int, outcome: str) -> dict[str, Any]:
    return {"delivery_request_id": name, "attempt_number": number, "outcome": outcome, "started_at": number * 10}


SPECIAL = {
    "delivery_requests": [
        delivery("arrived", "delivered"),
        delivery("held", "dead_lettered"),
        delivery("waits", "pending"),
    ],
    "delivery_attempts": [
        attempt("arrived", 1, "uncertain"),
        attempt("held", 1, "retryable_error"),
        attempt("held", 2, "uncertain"),
        attempt("held", 3, "uncertain"),
        attempt("waits", 1, "retryable_error"),
    ],
    "delivery_receipts": [{"delivery_request_id": "arrived"}, {"delivery_request_id": "held"}],
    "delivery_dead_letter": [{"delivery_request_id": "held"}, {"delivery_request_id": "waits"}],
}


def written_before(connection: Connection) -> Rows:
    config = migrate._config()
    config.attributes["connection"] = connection
    command.upgrade(config, "0016")
    fill(connection, SPECIAL, rows=0, only=SPECIAL)
    return everything(connection)


@pytest.mark.requirement("chan:hold-only-in-doubt")
@pytest.mark.parametrize("kind", KINDS)
async def test_only_what_may_have_arrived_is_in_doubt(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    database: Database = (
        SqliteDatabase(tmp_path / "before.db")
        if kind == "sqlite"
        else PostgresDatabase(request.getfixturevalue("new_postgres_url"))
    )
    try:
        before = await database.write(written_before)
        await database.migrate()
        after = await database.read(everything)
    finally:
        await database.close()

    doubtful = {row["id"]: row["doubtful_since"] for row in after["delivery_requests"]}
    assert doubtful == {"arrived": None, "held": 20, "waits": None}
    assert after["delivery_news"] == []
    kept = {
        name: [{key: row[key] for key in row.keys() - NEW} for row in after[name]] for name in before if name in after
    }
    assert kept == {name: rows for name, rows in before.items() if name in after}
