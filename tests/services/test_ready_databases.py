"""Whatever a test leaves in the database it was lent, the next one finds an empty one of the right shape."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import asyncpg
import pytest

from postroom.kernel.database.schema import newest
from tests.services.ready_databases import ReadyDatabases

ROWS = """
    SELECT sum((xpath('/row/n/text()', query_to_xml(
        format('SELECT count(*) AS n FROM %s', oid::regclass), false, true, '')))[1]::text::int)
    FROM pg_class WHERE oid >= 16384 AND relkind = 'r' AND relname <> 'postroom_version'
"""
NEVER_DELETED = """
    INSERT INTO messenger.approval_events (id, action_id, event_type, actor, event_metadata, occurred_at)
    VALUES ('1', '1', 'approved', 'operator', '{}', 1)
"""


@pytest.fixture(scope="module")
def ready(postgres_server_url: str) -> Iterator[ReadyDatabases]:
    with closing(ReadyDatabases(postgres_server_url)) as ready:
        yield ready


async def ask(url: str, statement: str) -> Any:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(statement)
    finally:
        await connection.close()


async def test_it_has_the_newest_tables_and_no_row(ready: ReadyDatabases) -> None:
    url = ready.lend()

    assert await ask(url, "SELECT version_num FROM postroom_version") == newest()
    assert await ask(url, ROWS) == 0


@pytest.mark.parametrize(
    "left",
    [
        pytest.param("INSERT INTO shared.butler_state VALUES ('health', 'mood', '1', 1, 1)", id="a row"),
        pytest.param(NEVER_DELETED, id="a row that nobody may delete"),
        pytest.param("CREATE TABLE messenger.mine AS SELECT 1 AS one", id="a table"),
    ],
)
async def test_what_was_left_is_gone_from_the_same_database(ready: ReadyDatabases, left: str) -> None:
    url = ready.lend()
    await ask(url, left)

    assert ready.lend() == url
    assert await ask(url, ROWS) == 0
    assert await ask(url, "SELECT to_regclass('messenger.mine')") is None


async def test_who_is_still_connected_is_sent_away(ready: ReadyDatabases) -> None:
    left = await asyncpg.connect(ready.lend())
    await left.execute("BEGIN; LOCK TABLE shared.butler_state")

    ready.lend()

    with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError, OSError)):
        await left.fetchval("SELECT 1")


@pytest.mark.parametrize(
    "change",
    [
        pytest.param("DROP TABLE shared.butler_state", id="a table dropped"),
        pytest.param("ALTER TABLE shared.butler_state ADD COLUMN more text", id="a column added"),
        pytest.param("ALTER TABLE shared.butler_state ALTER COLUMN value DROP NOT NULL", id="a column changed"),
        pytest.param("ALTER TABLE messenger.approval_events DISABLE TRIGGER USER", id="a guard switched off"),
        pytest.param("DROP INDEX messenger.ix_approval_events_rule_id", id="an index dropped"),
        pytest.param("ALTER TABLE shared.butler_state DROP CONSTRAINT pk_butler_state", id="a constraint dropped"),
        pytest.param("DROP SCHEMA shared CASCADE", id="a schema dropped"),
        pytest.param("UPDATE postroom_version SET version_num = '0001'", id="another revision"),
    ],
)
async def test_one_of_another_shape_is_never_lent_again(ready: ReadyDatabases, change: str) -> None:
    first = ready.lend()
    await ask(first, change)

    second = ready.lend()

    assert second != first
    assert await ask(second, "SELECT version_num FROM postroom_version") == newest()
    with pytest.raises(asyncpg.InvalidCatalogNameError):
        await ask(first, "SELECT 1")
