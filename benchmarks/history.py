"""Status lookup and claim while the ledger grows from ten thousand to a million deliveries."""

from __future__ import annotations

import statistics
import time

import uvloop
from sqlalchemy import Connection

from benchmarks.plane import opened
from benchmarks.temporary_postgres import temporary_postgres
from postroom.domain.ids import DeliveryId
from postroom.domain.ports import Ledger
from postroom.world.store.engine.database import Database

SIZES = (10_000, 1_000_000)
LOOKS = 300

_ROW = {
    "id": "'h' || n",
    "idempotency_key": "'k' || n",
    "fingerprint": "'f'",
    "request_id": "'r' || n",
    "origin_butler": "'butler' || (n % 4)",
    "channel": "'telegram'",
    "intent": "'send'",
    "target_identity": "'t' || (n % 5000)",
    "address": "'t' || (n % 5000)",
    "thread": "NULL",
    "order_key": "'telegram:t' || (n % 5000)",
    "message_content": "'a message of some length, as messages are'",
    "subject": "NULL",
    "emoji": "NULL",
    "request_envelope": "'{}'",
    "priority": "1",
    "on_uncertain": "'resend'",
    "status": "'delivered'",
    "fence": "1",
    "lease_until": "NULL",
    "trace_id": "NULL",
    "replay_of": "NULL",
    "replay_number": "NULL",
    "created_at": "n",
}


def fill(connection: Connection, first: int, last: int) -> None:
    postgres = connection.dialect.name == "postgresql"
    counting = f"WITH RECURSIVE c (n) AS (VALUES ({first}) UNION ALL SELECT n + 1 FROM c WHERE n < {last})"
    numbers = f"generate_series({first}, {last}) AS numbers (n)" if postgres else f"({counting} SELECT n FROM c)"
    table = "messenger.delivery_requests" if postgres else "delivery_requests"
    flag = "false" if postgres else "0"
    connection.exec_driver_sql(
        f"INSERT INTO {table} ({', '.join(_ROW)}, attempts, calls, parts_done, sending, possible_duplicate, "
        f"not_before, updated_at, terminal_at) SELECT {', '.join(_ROW.values())}, 1, 1, 1, {flag}, {flag}, n, n, n "
        f"FROM {numbers}"
    )


async def median_ms(ledger: Ledger, size: int) -> tuple[float, float]:
    looks, claims = [], []
    for place in range(LOOKS):
        began = time.perf_counter()
        await ledger.get(DeliveryId(f"h{1 + place * size // LOOKS}"))
        looks.append(time.perf_counter() - began)
        began = time.perf_counter()
        await ledger.claim("telegram", now_us=2**50, lease_until_us=2**51, limit=32)
        claims.append(time.perf_counter() - began)
    return statistics.median(looks) * 1000, statistics.median(claims) * 1000


async def grow(name: str, url: str) -> None:
    async with opened(url) as (database, ledger):
        await _grow(name, database, ledger)


async def _grow(name: str, database: Database, ledger: Ledger) -> None:
    stored, first = 0, (0.0, 0.0)
    for size in SIZES:
        for start in range(stored, size, 100_000):
            last = min(start + 100_000, size)
            await database.write(lambda connection, start=start, last=last: fill(connection, start + 1, last))
        stored = size
        look, claim = await median_ms(ledger, size)
        first = first if any(first) else (look, claim)
        print(
            f"{name:<10} {size:>9,} stored   status lookup {look:6.2f} ms (×{look / first[0]:.2f})   "
            f"claim {claim:6.2f} ms (×{claim / first[1]:.2f})"
        )


async def both(sqlite_url: str, postgres_url: str) -> None:
    await grow("sqlite", sqlite_url)
    await grow("postgres", postgres_url)


def main() -> None:
    with temporary_postgres() as (server, folder):
        uvloop.run(both(f"sqlite:///{folder}/history.db", server.url("butlers")))
