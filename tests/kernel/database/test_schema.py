"""Migrations: the same schema as the tables say, on both databases, however many processes start at once."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import BLANK_SCHEMA, Connection, MetaData, create_engine, inspect, text
from tests.all_tables import metadata
from tests.services import databases

from postroom.attention.model import NOTICE_MOVES
from postroom.conversations.model import INBOUND_MOVES
from postroom.kernel.database.migrations.versions import m0109_baseline
from postroom.kernel.database.postgres import PostgresDatabase
from postroom.kernel.database.schema import SCHEMAS, NewerDatabase, UnreleasedDatabase, newest, revision
from postroom.kernel.database.sqlite import SqliteDatabase
from postroom.message.delivery import TRANSITIONS
from postroom.questions.model import PRESENTATION_MOVES, QUESTION_MOVES

VERSIONS = "postroom.kernel.database.migrations.versions"
ROOT = Path(__file__).parents[3]
MIGRATE = """
import asyncio, sys
from postroom.kernel.database.postgres import PostgresDatabase
asyncio.run(PostgresDatabase(sys.argv[1]).migrate())
"""


@pytest.mark.requirement("ask:states", "talk:states", "attention:log-is-rows")
@pytest.mark.parametrize(
    ("table", "moves"),
    [
        ("{messenger}delivery_requests", TRANSITIONS),
        ("{shared}questions", QUESTION_MOVES),
        ("{shared}presentations", PRESENTATION_MOVES),
        ("{shared}notices", NOTICE_MOVES),
        ("{shared}inbound_messages", INBOUND_MOVES),
    ],
)
def test_the_moves_the_database_allows_are_those_of_the_state_table(table: str, moves: Mapping[Any, Any]) -> None:
    [allowed] = [one for one in m0109_baseline.MOVES if one.table == table]
    assert set(allowed.edges()) == {(str(one), str(after)) for (one, _), after in moves.items() if one != after}


def test_each_migration_is_named_after_its_revision() -> None:
    """So the newest is known without Alembic, which takes as much memory as all of the store."""
    scripts = Path(m0109_baseline.__file__).parent.glob("m*.py")
    found = {one.stem[1:5]: import_module(f"{VERSIONS}.{one.stem}") for one in scripts}
    before = ["", *sorted(found)]

    assert {name: one.revision for name, one in found.items()} == {name: name for name in found}
    assert [one.down_revision or "" for _, one in sorted(found.items())] == before[:-1]
    assert newest() == before[-1]


def test_a_baseline_that_is_changed_gets_a_revision_of_its_own() -> None:
    """Or a database made before would be taken for one made since, and fail at the first column that it has not."""
    folder = Path(m0109_baseline.__file__).parent
    digest = sha256((folder / "baseline.sql").read_bytes()).hexdigest()

    assert (m0109_baseline.revision, digest) == (
        "0109",
        "96f91d5c14e31c8dac0e77e117a008945e797915b590db659a57c192002350ae",
    )


async def test_on_sqlite_migrations_and_tables_agree(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "migrated.db")
    await database.migrate()
    plain = without_schemas()
    try:
        assert await database.read(lambda connection: differences(connection, plain)) == []
        migrated = await database.read(lambda connection: described(connection, [None]))
    finally:
        await database.close()
    with created(f"sqlite:///{tmp_path / 'created.db'}", plain) as connection:
        assert migrated == described(connection, [None])


async def test_on_postgres_migrations_and_tables_agree(new_postgres_url: str, postgres_server_url: str) -> None:
    async with migrated_postgres(new_postgres_url) as database:
        assert await database.read(lambda connection: differences(connection, metadata)) == []
        migrated = await database.read(lambda connection: described(connection, SCHEMAS))
    with databases.temporary(postgres_server_url) as other_url:
        connection = await asyncpg.connect(other_url)
        for schema in SCHEMAS:
            await connection.execute(f"create schema {schema}")
        await connection.close()
        other = PostgresDatabase(other_url)
        try:
            await other.write(metadata.create_all)
            assert migrated == await other.read(lambda connection: described(connection, SCHEMAS))
        finally:
            await other.close()


@pytest.fixture(params=["sqlite", "postgres"])
async def empty(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[SqliteDatabase | PostgresDatabase]:
    """Of either kind, without tables."""
    database: SqliteDatabase | PostgresDatabase
    if request.param == "sqlite":
        database = SqliteDatabase(tmp_path / "postroom.db")
    else:
        database = PostgresDatabase(request.getfixturevalue("new_postgres_url"))
    yield database
    await database.close()


async def test_every_step_is_shown_once_and_migrating_again_changes_nothing(
    empty: SqliteDatabase | PostgresDatabase,
) -> None:
    shown: list[tuple[int, int]] = []

    def show(done: int, total: int) -> None:
        shown.append((done, total))

    assert await empty.migrate(show) == (None, newest())
    assert shown and shown == [(number, len(shown)) for number in range(1, len(shown) + 1)]
    steps = list(shown)

    assert await empty.migrate(show) == (newest(), newest())
    assert shown == steps
    assert await empty.read(revision) == newest()


async def test_processes_that_migrate_at_the_same_time_all_succeed(new_postgres_url: str) -> None:
    command = [sys.executable, "-c", MIGRATE, new_postgres_url]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}

    processes = [
        await asyncio.create_subprocess_exec(
            *command, env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
        for _ in range(2)
    ]
    async with asyncio.timeout(60):
        outputs = [(await process.communicate())[0].decode() for process in processes]

    assert [process.returncode for process in processes] == [0, 0], outputs
    async with migrated_postgres(new_postgres_url) as database:
        assert await database.read(revision) == newest()


@asynccontextmanager
async def migrated_postgres(url: str) -> AsyncIterator[PostgresDatabase]:
    database = PostgresDatabase(url)
    await database.migrate()
    try:
        yield database
    finally:
        await database.close()


@contextmanager
def created(url: str, tables: MetaData) -> Iterator[Connection]:
    engine = create_engine(url)
    tables.create_all(engine)
    with engine.connect() as connection:
        yield connection
    engine.dispose()


def without_schemas() -> MetaData:
    """SQLite has no schemas: the same tables, beside each other."""
    plain = MetaData(naming_convention=metadata.naming_convention)
    for table in metadata.sorted_tables:
        table.to_metadata(plain, schema=None, referred_schema_fn=lambda *_: BLANK_SCHEMA)
    return plain


def differences(connection: Connection, tables: MetaData) -> list[Any]:
    """What Alembic would still want to change."""
    options = {
        "version_table": "postroom_version",
        "include_schemas": connection.dialect.name == "postgresql",
        "include_name": lambda name, kind, _: kind != "schema" or name in (None, *SCHEMAS),
        "compare_type": True,
    }
    return list(compare_metadata(MigrationContext.configure(connection, opts=options), tables))


def described(connection: Connection, schemas: Any) -> dict[str, Any]:
    """Everything the database can tell about its tables, conditions of indexes and checks included."""
    inspector = inspect(connection)
    return {
        f"{schema}.{table}": {
            "columns": [
                (column["name"], str(column["type"]), column["nullable"])
                for column in inspector.get_columns(table, schema=schema)
            ],
            "key": inspector.get_pk_constraint(table, schema=schema),
            "foreign": sorted(map(str, inspector.get_foreign_keys(table, schema=schema))),
            "unique": sorted(map(str, inspector.get_unique_constraints(table, schema=schema))),
            "checks": sorted(
                (check["name"], " ".join(check["sqltext"].split()))
                for check in inspector.get_check_constraints(table, schema=schema)
            ),
            "indexes": sorted(
                (index["name"], index["column_names"], index["unique"], _plain(index.get("dialect_options", {})))
                for index in inspector.get_indexes(table, schema=schema)
            ),
        }
        for schema in schemas
        for table in inspector.get_table_names(schema=schema)
        if table != "postroom_version"
    }


def _plain(options: dict[str, Any]) -> str:
    return str({name: " ".join(str(value).split()) for name, value in options.items()})


@pytest.mark.parametrize(
    ("left", "refusal", "words"),
    [
        ("9999", NewerDatabase, "revision 9999.*newer than this program"),
        ("0039", UnreleasedDatabase, "revision 0039, from before the first release.*begin with an empty"),
    ],
    ids=["newer", "unreleased"],
)
async def test_a_database_of_another_age_is_refused_in_one_sentence(
    empty: SqliteDatabase | PostgresDatabase, left: str, refusal: type[Exception], words: str
) -> None:
    await empty.migrate()
    await empty.write(
        lambda connection: connection.execute(text(f"UPDATE postroom_version SET version_num = '{left}'"))
    )

    with pytest.raises(refusal, match=words):
        await empty.migrate()

    assert await empty.read(revision) == left
