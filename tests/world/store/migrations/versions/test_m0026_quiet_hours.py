"""Quiet hours that were set in an inbox before the upgrade are the policy's after it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from alembic import command
from sqlalchemy import Connection, text
from tests.clock import FakeClock
from tests.opened_database import KINDS
from tests.world.store.migrations.filled import fill

from postroom.app.address_book import stored_people
from postroom.app.attention import HouseholdNames
from postroom.domain.ids import IdMint
from postroom.work.attention.attention import Attention
from postroom.work.attention.notice_book import NoticeBook
from postroom.work.attention.policy import policy_mapping
from postroom.work.inbox.wishes import InboxWishes
from postroom.world.store.attention.attention import StoredNotices
from postroom.world.store.engine import migrate
from postroom.world.store.engine.database import Database
from postroom.world.store.engine.postgres import PostgresDatabase
from postroom.world.store.engine.sqlite import SqliteDatabase
from postroom.world.store.inbox.preferences import StoredPreferences


def wished(user_id: str, start: str | None, end: str | None, **more: Any) -> dict[str, Any]:
    plain = {
        "delivery_channel": "both",
        "email": None,
        "email_pending": None,
        "quiet_hours_timezone": "UTC",
        "high_priority_passes": False,
    }
    return {"user_id": user_id, "quiet_hours_start": start, "quiet_hours_end": end, **plain, **more}


def known(person: str, policy: str | None) -> dict[str, Any]:
    return {"person": person, "policy": policy, "rest": "{}", "seq": 0, "next_at": None}


SPECIAL = {
    "notification_preferences": [
        wished("ada", "22:00:00", "07:30:15", quiet_hours_timezone="Europe/Berlin", high_priority_passes=True),
        wished("operator", "23:00:00", "06:00:00"),
        wished("bob", None, None, quiet_hours_timezone="Asia/Kolkata"),
        wished("eve", "22:00:00", "07:00:00"),
        wished("zoe", "22:00:00", "07:00:00"),
    ],
    "attention_people": [
        known("eve", '{"quiet_hours":[{"end":"05:00:00","start":"01:00:00"}]}'),
        known("zoe", '{"preset":"calm"}'),
    ],
}
EXPECTED = {
    "ada": {
        "zone": "Europe/Berlin",
        "quiet_hours": [{"from": "22:00", "until": "07:30:15"}],
        "let_pass": ["time_sensitive"],
    },
    "owner": {"zone": "UTC", "quiet_hours": [{"from": "23:00", "until": "06:00"}]},
    "bob": None,
    "eve": {"quiet_hours": [{"from": "01:00", "until": "05:00"}]},
    "zoe": {"zone": "UTC", "preset": "calm", "quiet_hours": [{"from": "22:00", "until": "07:00"}]},
}


def written_before(connection: Connection) -> None:
    config = migrate._config()
    config.attributes["connection"] = connection
    command.upgrade(config, "0025")
    fill(connection, SPECIAL, rows=0, only=SPECIAL)


def times(connection: Connection) -> dict[str, tuple[str | None, str | None, str]]:
    shared = "shared." if connection.dialect.name == "postgresql" else ""
    asked = "SELECT user_id, quiet_hours_start, quiet_hours_end, quiet_hours_timezone FROM {}notification_preferences"
    return {row[0]: (row[1], row[2], row[3]) for row in connection.execute(text(asked.format(shared)))}


@pytest.mark.requirement("attention:one-quiet-hours")
@pytest.mark.parametrize("kind", KINDS)
async def test_they_are_the_policys(
    kind: str, tmp_path: Path, clock: FakeClock, request: pytest.FixtureRequest
) -> None:
    database: Database = SqliteDatabase(tmp_path / "postroom.db") if kind == "sqlite" else _postgres(request)
    try:
        await database.write(written_before)
        await database.migrate()
        book = NoticeBook(
            store=StoredNotices(database),
            people=HouseholdNames(people=stored_people(database, IdMint())),
            clock=clock,
        )
        attention = Attention(book=book)
        found = {name: (await attention.policy(name))[0] for name in EXPECTED}
        shown = await InboxWishes(rows=StoredPreferences(database), book=book).of("ada")

        assert {name: one and policy_mapping(one) for name, one in found.items()} == EXPECTED
        assert (str(shown.quiet_hours_end), shown.quiet_hours_timezone) == ("07:30:15", "Europe/Berlin")
        assert await attention.audit() == () and (await attention.figures()).unaccounted == ()
        assert {one[:2] for one in (await database.read(times)).values()} == {(None, None)}
    finally:
        await database.close()


def _postgres(request: pytest.FixtureRequest) -> PostgresDatabase:
    return PostgresDatabase(request.getfixturevalue("new_postgres_url"))
