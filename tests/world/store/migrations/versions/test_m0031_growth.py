"""Whatever is asked again and again of a ledger that grows is answered along an index, on both databases."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
from benchmarks.growth_fill import lengthen
from benchmarks.growth_rows import FILLINGS
from sqlalchemy import Connection
from tests.opened_database import KINDS, opened_database
from tests.world.store.migrations.planned import Work, planned

from postroom.domain.audit import AuditQuery
from postroom.domain.retention import DAY_US, Retention
from postroom.world.store.attention.attention import _page
from postroom.world.store.engine.database import Database
from postroom.world.store.retention.records import STALE
from postroom.world.store.shared.audit import _entries

NOW_US = time.time_ns() // 1_000_000 * 1000
OLD = Retention(settled_before_us=NOW_US - 30 * DAY_US, now_us=NOW_US)  # so that nothing is old enough
TABLES = {one.table for one in FILLINGS}
PAGE = AuditQuery(limit=50)
ANNS = AuditQuery(limit=50, actors=("person:ann",))


def pruned(name: str) -> Work:
    stale = next(one for one in STALE if one.name == name)
    return partial(stale.remove, retention=OLD, limit=100)


def held(connection: Connection) -> None:
    connection.execute(_page("p1", ["accepted", "held"], 50, None)).all()


@pytest.fixture(params=KINDS)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with opened_database(request.param, tmp_path, request) as one:
        await lengthen(one, 2_000, NOW_US // 1000)
        yield one


CASES: list[tuple[str, Work]] = [
    ("ix_audit_entries_at_id", partial(_entries, query=PAGE)),
    ("ix_audit_entries_actor", partial(_entries, query=ANNS)),
    ("ix_notices_person_state_created_at", held),
    ("ix_notices_closed", pruned("notices")),
    ("ix_notice_sends_handed_over", pruned("sends of notices")),
    ("ix_attention_log_facts", pruned("facts about notices")),
    ("ix_notifications_updated_at", pruned("notes")),
    ("ix_questions_erased", pruned("questions")),
]


async def test_each_list_and_each_step_of_a_prune_has_its_index(database: Database) -> None:
    for index, work in CASES:
        plan = await database.write(partial(planned, work=work))

        assert index in plan, plan
        assert work is held or not ("Sort" in plan or "TEMP B-TREE FOR ORDER BY" in plan), plan
        assert not [
            one for one in FILLINGS if f"SCAN main.{one.table}\n" in plan or f"Seq Scan on {one.table} " in plan
        ]
