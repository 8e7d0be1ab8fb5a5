"""The limit: the driver itself writing the same rows in batches, with nothing of ours in between."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from pathlib import Path
from typing import Any, TypeAlias

import asyncpg

from postroom.delivery.model import Lease, NewDelivery, SendAttempt, Settlement
from postroom.delivery.store import postgres as pg
from postroom.delivery.store import rows
from postroom.delivery.store import sqlite as lite
from postroom.kernel.database.postgres import PostgresDatabase, planning_by_index
from postroom.kernel.database.sqlite import SqliteDatabase
from postroom.kernel.values.ids import DeliveryId, IdMint
from postroom.message.delivery import AttemptResult, Intent, OnUncertain, Priority, Receipt, Status

BATCH = 100
_LANES = 3
_AT_ONCE = Lease(until_us=2**60, sending=True)

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"


def batches(count: int) -> list[list[NewDelivery]]:
    mint, now = IdMint(), time.time_ns() // 1000
    news = []
    for number in range(count):
        key = mint.mint(now)
        news.append(
            NewDelivery(
                id=DeliveryId(key),
                idempotency_key=key,
                fingerprint=key,
                request_id=key,
                origin_butler=f"butler{number % 4}",
                channel="telegram",
                intent=Intent.SEND,
                target_identity=str(number),
                address=f"raw{number}",
                thread=None,
                message="x" * 130,
                subject=None,
                emoji=None,
                envelope="y" * 280,
                priority=Priority.MEDIUM,
                on_uncertain=OnUncertain.RESEND,
                created_at_us=now,
                trace_id="0" * 32,
            )
        )
    return [news[start : start + BATCH] for start in range(0, count, BATCH)]


def settlement(new: NewDelivery) -> Settlement:
    now = new.created_at_us + 1000
    return Settlement(
        claim=new.claimed(sending=True),
        status=Status.DELIVERED,
        at_us=now,
        not_before_us=now,
        attempts=1,
        attempt=SendAttempt(started_at_us=now, completed_at_us=now, outcome=AttemptResult.SUCCESS),
        receipt=Receipt("1"),
    )


async def raw_per_second(url: str, *, count: int) -> float:
    if url.startswith("sqlite"):
        return await asyncio.to_thread(_sqlite, Path(url.removeprefix("sqlite:///")), count)
    return await _postgres(url, count)


def _sqlite(path: Path, count: int) -> float:
    database = SqliteDatabase(path)
    asyncio.run(database.migrate())
    asyncio.run(database.close())
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    first, *work = [_sqlite_batch(batch) for batch in batches(BATCH + count)]
    _run(connection, [first])  # as ours, without the time that statements take to be prepared
    began = time.perf_counter()
    _run(connection, work)
    took = time.perf_counter() - began
    connection.close()
    return count / took


def _run(connection: sqlite3.Connection, work: list[list[list[tuple[lite.ManyRows, list[Any]]]]]) -> None:
    for statements in work:
        for group in statements:
            connection.execute("BEGIN IMMEDIATE")
            for statement, values in group:
                statement.run(connection, values)
            connection.execute("COMMIT")


def _sqlite_batch(batch: list[NewDelivery]) -> list[list[tuple[lite.ManyRows, list[Any]]]]:
    done = [settlement(new) for new in batch]
    inserts = [rows.insert_values(new, _AT_ONCE) for new in batch]
    return [
        [(lite._INSERT, inserts)],
        [
            (lite._SETTLE, [rows.settle_values(one) for one in done]),
            (lite._ATTEMPT, [rows.attempt_values(one) for one in done]),
            (lite._RECEIPT, [rows.receipt_values(one.claim, Receipt("1"), one.at_us) for one in done]),
        ],
    ]


async def _postgres(url: str, count: int) -> float:
    database = PostgresDatabase(url)
    await database.migrate()
    await database.close()
    work = [_postgres_batch(batch) for batch in batches(_LANES * BATCH + count)]
    connections = [await planning_by_index(await asyncpg.connect(url)) for _ in range(_LANES)]
    for connection in connections:  # as ours, without the time that statements take to be prepared
        await _write(connection, work.pop())

    async def lane(connection: Connection) -> None:
        while work:
            await _write(connection, work.pop())

    began = time.perf_counter()
    await asyncio.gather(*map(lane, connections))
    took = time.perf_counter() - began
    for connection in connections:
        await connection.close()
    return count / took


async def _write(connection: Connection, batch: list[tuple[str, list[Any]]]) -> None:
    for sql, values in batch:
        await connection.fetch(sql, *values)


def _postgres_batch(batch: list[NewDelivery]) -> list[tuple[str, list[Any]]]:
    done = [settlement(new) for new in batch]
    settled = pg.columns([(*rows.settle_values(one), *pg._received(one)) for one in done])
    attempts = pg.columns([values for one in done if (values := rows.attempt_values(one))])
    return [
        (pg._INSERT, [*pg.columns([rows.insert_values(new, _AT_ONCE) for new in batch]), True, *pg.MARKS]),
        (pg._SETTLE, [*settled, *attempts, *pg.columns([], width=len(pg._DEAD)), True, *pg.MARKS]),
    ]
