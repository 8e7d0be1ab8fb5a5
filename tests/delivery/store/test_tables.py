"""A delivery's columns are named once: a new one is a line here, a field of the domain and a migration."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.opened_database import KINDS

import postroom
from postroom.delivery.store import tables

PACKAGE = Path(postroom.__file__).parent
COLUMNS = Path(tables.__file__).relative_to(PACKAGE)
MIGRATIONS = Path("kernel/database/migrations/versions")
DOMAIN = Path("delivery/model.py")

ADDITIONS = {
    COLUMNS: (
        'DeliveryColumn("trace_id"',
        'DeliveryColumn(name="note", required=False, new="note", claim="note"),\n    DeliveryColumn("trace_id"',
    ),
    DOMAIN: ("    trace_id: str | None = None\n", "    trace_id: str | None = None\n    note: str | None = None\n"),
}
MIGRATION = """
from postroom.kernel.database.schema import run

revision = "9999"
down_revision = "{newest}"


def upgrade() -> None:
    run(["ALTER TABLE {{messenger}}delivery_requests ADD COLUMN note TEXT"])
"""
USE = """
import asyncio, sys
from pathlib import Path

from tests.opened_database import ledger_of
from tests.support.sample_deliveries import LEASE_US, NOON_US, new_delivery
from postroom.kernel.database.postgres import PostgresDatabase
from postroom.kernel.database.sqlite import SqliteDatabase


async def main(where: str) -> None:
    database = PostgresDatabase(where) if where.startswith("postgres") else SqliteDatabase(Path(where))
    await database.migrate()
    ledger = ledger_of(database)
    await ledger.insert(new_delivery(note="beside the point"), None)
    claim, = await ledger.claim("telegram", now_us=NOON_US, lease_until_us=LEASE_US, limit=1)
    print(claim.note)
    await database.close()


asyncio.run(main(sys.argv[1]))
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(PACKAGE, tmp_path / "src" / "postroom", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "src" / "postroom"


@pytest.mark.requirement("house:one-table-of-columns")
@pytest.mark.parametrize("kind", KINDS)
def test_a_new_column_touches_the_table_the_domain_and_a_migration_only(
    copy: Path, kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    changed = _with_a_note(copy)
    where = str(tmp_path / "postroom.db") if kind == "sqlite" else request.getfixturevalue("new_postgres_url")

    assert len(changed) == 3
    assert _run(copy, where) == "beside the point\n"


def _with_a_note(copy: Path) -> set[Path]:
    for path, (old, new) in ADDITIONS.items():
        text = (copy / path).read_text()
        assert text.count(old) == 1
        (copy / path).write_text(text.replace(old, new))
    newest = sorted(path.stem for path in (copy / MIGRATIONS).glob("m*.py"))[-1][1:5]
    migration = copy / MIGRATIONS / "m9999_note.py"
    migration.write_text('"""A note."""\n' + MIGRATION.format(newest=newest))
    return {*ADDITIONS, migration}


def _run(copy: Path, where: str) -> str:
    path = os.pathsep.join((str(copy.parent), str(PACKAGE.parents[1])))
    done = subprocess.run(
        [sys.executable, "-c", USE, where],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
