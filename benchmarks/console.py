"""How long the console takes to answer while the ledger grows from ten thousand to a million deliveries."""

from __future__ import annotations

import statistics
import tempfile
import time
from functools import partial
from pathlib import Path

import aiohttp
import uvloop
from sqlalchemy import Connection
from tests.console.http import Caller
from tests.household.living import Living, living
from tests.services import databases
from tests.services.postgres import PostgresServer

from postroom.household.store import connect_store
from postroom.kernel.database.engine import Database
from postroom.kernel.database.postgres import PostgresDatabase

SIZES = (10_000, 1_000_000)
LOOKS = 30
GOAL_MS = 200.0
PAGES = {
    "first page": "/console/",
    "deliveries": "/console/deliveries",
    "failed ones": "/console/deliveries?status=failed",
    "a word that is nowhere": "/console/deliveries?q=nowhere",
    "dead letters": "/console/dead-letters",
    "health": "/console/health",
}
_EVERY_MS = 30 * 24 * 3600 * 1000 // 1_000_000

# One in a hundred fails, one in a hundred is given up; a third goes by e-mail; a million in thirty days.
_STATUS = "CASE n % 100 WHEN 7 THEN 'failed' WHEN 8 THEN 'dead_lettered' ELSE 'delivered' END"
_ROW = {
    "idempotency_key": "'k' || n",
    "fingerprint": "'f'",
    "request_id": "'r' || n",
    "origin_butler": "'butler' || (n % 4)",
    "channel": "CASE WHEN n % 3 = 0 THEN 'email' ELSE 'telegram' END",
    "intent": "'send'",
    "target_identity": "'person' || (n % 5000) || '@example.org'",
    "address": "'person' || (n % 5000) || '@example.org'",
    "thread": "NULL",
    "order_key": "'telegram:t' || (n % 5000)",
    "message_content": "'a message of some length, as messages are, number ' || n",
    "subject": "NULL",
    "emoji": "NULL",
    "request_envelope": "'{}'",
    "priority": "1",
    "on_uncertain": "'resend'",
    "status": _STATUS,
    "fence": "1",
    "lease_until": "NULL",
    "trace_id": "NULL",
    "replay_of": "NULL",
    "replay_number": "NULL",
}


def fill(connection: Connection, first: int, last: int, size: int, now_ms: int) -> None:
    """Ids as they are minted: the milliseconds first, then the number of the row."""
    postgres = connection.dialect.name == "postgresql"
    schema = "messenger." if postgres else ""
    moment = f"({now_ms} - CAST({_EVERY_MS} AS BIGINT) * ({size} - n))"
    hexed = f"lpad(to_hex({moment}), 12, '0')" if postgres else f"printf('%012x', {moment})"
    tail = "lpad(n::text, 12, '0')" if postgres else "printf('%012d', n)"
    row_id = f"substr({hexed}, 1, 8) || '-' || substr({hexed}, 9) || '-7000-8000-' || {tail}"
    values = _ROW | {"id": row_id, "created_at": f"{moment} * 1000"}
    counting = f"WITH RECURSIVE c (n) AS (VALUES ({first}) UNION ALL SELECT n + 1 FROM c WHERE n < {last})"
    numbers = f"generate_series({first}, {last}) AS numbers (n)" if postgres else f"({counting} SELECT n FROM c)"
    flag, at = "false" if postgres else "0", f"{moment} * 1000"
    connection.exec_driver_sql(
        f"INSERT INTO {schema}delivery_requests ({', '.join(values)}, attempts, calls, parts_done, turn, sending, "
        f"possible_duplicate, not_before, updated_at, terminal_at) "
        f"SELECT {', '.join(values.values())}, 1, 1, 1, 0, {flag}, {flag}, {at}, {at}, {at} "
        f"FROM {numbers}"
    )


def complete(connection: Connection) -> None:
    """Every delivery had one call, and whatever was given up has its dead letter."""
    postgres = connection.dialect.name == "postgresql"
    schema = "messenger." if postgres else ""
    connection.exec_driver_sql(
        f"INSERT INTO {schema}delivery_attempts (delivery_request_id, attempt_number, started_at, completed_at, "
        f"latency_ms, outcome) SELECT id, 1, created_at, created_at + 20000, 20 + length(request_id) * 3, 'success' "
        f"FROM {schema}delivery_requests"
    )
    connection.exec_driver_sql(
        f"INSERT INTO {schema}delivery_dead_letter (id, delivery_request_id, quarantine_reason, total_attempts, "
        f"replay_count, created_at) SELECT id, id, 'retries_exhausted', 3, 0, created_at "
        f"FROM {schema}delivery_requests WHERE status = 'dead_lettered'"
    )
    if not postgres:
        connection.exec_driver_sql("ANALYZE")


async def store_deliveries(database: Database, size: int) -> None:
    now_ms = time.time_ns() // 1_000_000
    for first in range(1, size + 1, 100_000):
        last = min(first + 99_999, size)
        await database.write(partial(fill, first=first, last=last, size=size, now_ms=now_ms))
    await database.write(complete)
    if isinstance(database, PostgresDatabase):  # as it does by itself after a while
        connection = await database.connect()
        await connection.execute("VACUUM ANALYZE")
        await connection.close()


async def timed(home: Living) -> dict[str, tuple[float, float]]:
    assert home.household.sign_in is not None
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http:
        caller = Caller(home.household.addresses["api"], http)
        cookies = await caller.sign_in(await home.household.sign_in())
        return {name: await _timed(caller, cookies, path) for name, path in PAGES.items()}


async def _timed(caller: Caller, cookies: dict[str, str], path: str) -> tuple[float, float]:
    taken = []
    for _ in range(LOOKS):
        began = time.perf_counter()
        answer = await caller.get(path, cookies)
        taken.append((time.perf_counter() - began) * 1000)
        assert answer.status == 200, answer.text
    return statistics.median(taken), sorted(taken)[round(LOOKS * 0.95) - 1]


async def measured(home: Path, size: int, **settings: str) -> dict[str, tuple[float, float]]:
    async with living(home, settings, only=("sandbox", "api", "messenger", "switchboard")) as one:
        store = connect_store(one.settings)
        try:
            await store_deliveries(store.database, size)
        finally:
            await store.database.close()
        return await timed(one)


def report(name: str, small: dict[str, tuple[float, float]], large: dict[str, tuple[float, float]]) -> None:
    for page in PAGES:
        (before, _), (after, worst) = small[page], large[page]
        verdict = "met" if after <= GOAL_MS else "MISSED"
        print(
            f"  {name:<9} {page:<23} {before:7.1f} ms at 10,000; {after:7.1f} ms at 1,000,000 "
            f"(p95 {worst:.1f}, ×{after / before:.1f}), goal {GOAL_MS:.0f} ms {verdict}"
        )


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        report("sqlite", *(uvloop.run(measured(Path(folder, str(size)), size)) for size in SIZES))
        server = PostgresServer(Path(folder) / "postgres")
        server.start()
        try:
            results = []
            for size in SIZES:
                with databases.temporary(server.url("butlers")) as url:
                    results.append(uvloop.run(measured(Path(folder, f"postgres-{size}"), size, database_url=url)))
            report("postgres", *results)
        finally:
            server.stop()
