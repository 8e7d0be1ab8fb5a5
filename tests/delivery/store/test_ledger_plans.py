"""How the hot statements go: along which index, and planned once, however much waits and however little is held."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import asyncpg
import pytest
from tests.services.ready_file import ready_file

from postroom.delivery.store import postgres as ledger
from postroom.delivery.store import sqlite as sqlite_ledger
from postroom.kernel.database.postgres import PostgresDatabase

_DELIVERED = """
    INSERT INTO messenger.delivery_requests (id, idempotency_key, fingerprint, request_id, origin_butler, channel,
        intent, target_identity, address, order_key, message_content, request_envelope, priority, on_uncertain, status,
        fence, attempts, calls, parts_done, turn, sending, possible_duplicate, not_before, created_at, updated_at)
    SELECT number::text, number::text, '', number::text, 'health', 'telegram', 'send', '1', '1', number::text, '', '{}',
        1, 'resend', CASE number WHEN 1 THEN 'in_progress' ELSE 'delivered' END, 1, 1, 1, 0, 0, false, false, 0, 0, 0
    FROM generate_series(1, 5000) AS number
"""
STATEMENTS = {"mark": (ledger._MARK, 7), "settle": (ledger._SETTLE, 40), "advance": (ledger._ADVANCE, 9)}


async def plan(connection: asyncpg.Connection, statement: str, arguments: int) -> str:
    """The one that is kept for all calls to come."""
    await connection.execute("SET plan_cache_mode = force_generic_plan")
    await connection.execute(f"PREPARE asked AS {statement}")
    lines = await connection.fetch(f"EXPLAIN EXECUTE asked ({', '.join(['NULL'] * arguments)})")
    return "\n".join(line[0] for line in lines)


@pytest.mark.parametrize("known", [False, True], ids=["before anything is known", "of a ledger that is known"])
@pytest.mark.parametrize("name", STATEMENTS)
async def test_what_is_held_is_found_by_its_id(postgres_url: str, name: str, known: bool) -> None:
    database = PostgresDatabase(postgres_url)
    await database.migrate()
    await database.close()
    connection = await asyncpg.connect(postgres_url)
    try:
        if known:
            await connection.execute(_DELIVERED)
            await connection.execute("ANALYZE messenger.delivery_requests")
        found = await plan(connection, *STATEMENTS[name])
    finally:
        await connection.close()

    assert "ix_delivery_requests_lease" not in found
    if known:  # an empty table may be read whole; the plan is made anew once there is something in it
        assert "pk_delivery_requests" in found


async def test_a_hot_statement_is_planned_once_for_all_values(postgres_url: str) -> None:
    """As statistics fall, the server would plan some of them anew each time, which takes longer than running them."""
    database = PostgresDatabase(postgres_url, pool_size=1)
    try:
        await database.migrate()
        asked = ledger.PostgresLedger(database)
        for _ in range(7):
            await asked.claim("telegram", now_us=1, lease_until_us=2, limit=3)
        made = await database.hot(
            lambda connection: connection.fetchrow(
                "SELECT custom_plans, generic_plans FROM pg_prepared_statements WHERE statement = $1", ledger._CLAIM
            )
        )
    finally:
        await database.close()

    assert made is not None
    assert tuple(made) == (0, 7)


def test_the_first_of_each_sender_to_an_address_is_found_without_reading_the_others(tmp_path: Path) -> None:
    """A thousand messages of two senders may wait for one person, and each that leaves asks whose turn it is."""
    connection = sqlite3.connect(ready_file(tmp_path / "postroom.db"))
    found = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sqlite_ledger._CLAIM}", [None] * 5)]
    connection.close()

    own = [step for step in found if step.startswith("SEARCH own")]
    assert len(own) == 2
    assert all("ix_delivery_requests_order (order_key=? AND origin_butler=?)" in step for step in own), found
