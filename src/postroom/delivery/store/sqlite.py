"""The delivery ledger on SQLite: each operation is a step in the writer's next transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import cache
from typing import Any, Final, TypeAlias, TypeVar

from sqlalchemy import Connection

from postroom.delivery.model import Claim, Inserted, Lease, NewDelivery, Refusal, Settlement, Snapshot
from postroom.delivery.store.ledger import DeliveryLedger, Marked, Written
from postroom.delivery.store.rows import (
    CLAIMED,
    CLAIMS,
    INITIALLY,
    INSERT_COLUMNS,
    MARKED_SINCE,
    REFUSAL_COLUMNS,
    SETTLE_COLUMNS,
    SNAPSHOT,
    attempt_values,
    claim_of,
    dead_letter_values,
    found_again,
    in_turn,
    insert_values,
    mark_values,
    new_snapshot,
    origins,
    receipt_values,
    redating,
    refusal_values,
    settle_values,
    settling,
    snapshot_of,
)
from postroom.delivery.store.tables import delivery_attempts, delivery_receipts
from postroom.kernel.database.sqlite import SqliteDatabase
from postroom.kernel.values.ids import DeliveryId
from postroom.message.delivery import Receipt, Status

_Result = TypeVar("_Result")
_ANY_TIME: Final = 2**62


# One statement over many rows, so that the interpreter's lock is given up once and not once a row.

Row: TypeAlias = Sequence[Any]
_ROWS_AT_ONCE = 256  # SQLite takes 32,766 values in a statement


class ManyRows:
    """`statement` is given the text of a VALUES list, and kept for each of the few lengths there are."""

    def __init__(self, statement: Callable[[str], str], *, row: str) -> None:
        self._text = cache(lambda count: statement(", ".join([row] * count)))

    def run(self, driver: sqlite3.Connection, rows: Sequence[Row]) -> list[Any]:
        """What the statement returns, over all the rows."""
        returned: list[Any] = []
        for some in _powers_of_two(rows):
            values = [value for row in some for value in row]
            returned += driver.execute(self._text(len(some)), values).fetchall()
        return returned


def marks(count: int) -> str:
    return f"({', '.join('?' * count)})"


def _powers_of_two(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """Lengths that come back, so that the driver finds its prepared statements again."""
    start = 0
    while left := len(rows) - start:
        length = min(1 << (left.bit_length() - 1), _ROWS_AT_ONCE)
        yield rows[start : start + length]
        start += length


_INSERT = ManyRows(
    lambda rows: (
        f"""
    INSERT INTO delivery_requests ({", ".join((*INSERT_COLUMNS, *INITIALLY))})
    VALUES {rows} ON CONFLICT (idempotency_key) DO NOTHING RETURNING id
    """
    ),
    row=f"({', '.join((*('?' * len(INSERT_COLUMNS)), *INITIALLY.values()))})",
)
_BUSY_THREADS = """
    SELECT one.value FROM json_each(?) AS one WHERE EXISTS (
        SELECT 1 FROM delivery_requests WHERE order_key = one.value AND status IN ('pending', 'in_progress'))
"""
_BY_KEY = f"""
    SELECT {SNAPSHOT} FROM delivery_requests WHERE idempotency_key = ?1
"""
_BY_ID = f"SELECT {SNAPSHOT} FROM delivery_requests WHERE id = ?"
_DELIVERED_REPLAY = f"""
    SELECT {SNAPSHOT} FROM delivery_requests WHERE replay_of = ?1 AND status = 'delivered'
    LIMIT 1
"""
_ORIGINS = f"""
    WITH RECURSIVE {origins("delivery_requests", "?1")} SELECT name FROM origin WHERE name IS NOT NULL
"""
_CLAIM = f"""
    UPDATE delivery_requests SET status = 'in_progress', {CLAIMS.taking("?1")}, updated_at = ?2
    WHERE id IN (
        SELECT due.id FROM delivery_requests AS due
        WHERE due.status = 'pending' AND due.channel = ?3 AND due.origin_butler = ?4 AND due.not_before <= ?2
          AND {in_turn("delivery_requests", "due", "?2")}
        ORDER BY due.priority, due.not_before LIMIT ?5)
    RETURNING {CLAIMED}
"""
_GIVE_WAY = """
    UPDATE delivery_requests SET turn = others.latest + 1
    FROM (SELECT max(turn) AS latest FROM delivery_requests
          WHERE order_key = ?1 AND status = 'pending' AND origin_butler <> ?2) AS others
    WHERE others.latest IS NOT NULL AND id = (
        SELECT min(id) FROM delivery_requests WHERE order_key = ?1 AND status = 'pending' AND origin_butler = ?2)
"""
_RECLAIM = f"""
    UPDATE delivery_requests SET {CLAIMS.taking("?")}, {MARKED_SINCE}, updated_at = ?
    WHERE id IN (
        SELECT id FROM delivery_requests WHERE status = 'in_progress' AND lease_until < ?
          AND id NOT IN (SELECT value FROM json_each(?))
        LIMIT ?)
    RETURNING {CLAIMED}
"""
_DATED_AHEAD_US: Final = 5_000_000  # as long as a write may have waited for its turn
_REDATE = redating("delivery_requests", "?1", "?2", "IN ({})")
_NEXT_DUE = "SELECT min(not_before) FROM delivery_requests WHERE status = 'pending' AND not_before > ?"
_MARK = ManyRows(
    lambda rows: (
        f"""
    WITH mine (id, fence, lease_until, now, repeats) AS (VALUES {rows})
    UPDATE delivery_requests SET sending = 1, lease_until = mine.lease_until, updated_at = mine.now,
        possible_duplicate = mine.repeats
    FROM mine
    WHERE {CLAIMS.held("delivery_requests", "mine.id", "mine.fence")} AND status = 'in_progress'
    RETURNING id
    """
    ),
    row=marks(5),
)
_ADVANCE = f"""
    UPDATE delivery_requests SET parts_done = ?, lease_until = ?, updated_at = ?, doubtful_since = NULL
    WHERE {CLAIMS.held("delivery_requests", "?", "?")} AND status = 'in_progress'
"""
_SETTLE = ManyRows(
    lambda rows: (
        f"""
    WITH done ({", ".join(SETTLE_COLUMNS)}, id, fence) AS (VALUES {rows})
    UPDATE delivery_requests SET {settling("delivery_requests", "done")}
    FROM done
    WHERE {CLAIMS.held("delivery_requests", "done.id", "done.fence")}
      AND delivery_requests.status = 'in_progress'
    RETURNING id
    """
    ),
    row=marks(len(SETTLE_COLUMNS) + 2),
)
_ATTEMPT = ManyRows(lambda rows: f"INSERT INTO delivery_attempts VALUES {rows}", row=marks(len(delivery_attempts.c)))
_RECEIPT = ManyRows(
    lambda rows: f"INSERT OR IGNORE INTO delivery_receipts VALUES {rows}", row=marks(len(delivery_receipts.c))
)
_DEAD_LETTER = """
    INSERT INTO delivery_dead_letter (id, delivery_request_id, quarantine_reason, error_class, error_summary,
        total_attempts, replay_count, created_at) VALUES (?, ?, ?, ?, ?, ?, 0, ?)
"""
_REFUSE = f"INSERT INTO delivery_refusals ({', '.join(REFUSAL_COLUMNS)}) VALUES {marks(len(REFUSAL_COLUMNS))}"


class SqliteLedger(DeliveryLedger):
    def __init__(self, database: SqliteDatabase) -> None:
        super().__init__()
        self._database = database

    async def get(self, delivery_id: DeliveryId) -> Snapshot | None:
        def work(connection: Connection) -> Snapshot | None:
            row = _driver(connection).execute(_BY_ID, (delivery_id,)).fetchone()
            return snapshot_of(row) if row else None

        return await self._database.read(work)

    async def refuse(self, refusal: Refusal) -> None:
        await self._write(lambda driver: driver.execute(_REFUSE, refusal_values(refusal)))

    async def claim(self, channel: str, *, now_us: int, lease_until_us: int, limit: int) -> Sequence[Claim]:
        return await self._write(lambda driver: _claim(driver, channel, now_us, lease_until_us, limit))

    async def reclaim(
        self,
        *,
        expired_before_us: int,
        now_us: int,
        lease_until_us: int,
        limit: int,
        in_hand: Sequence[DeliveryId] = (),
    ) -> Sequence[Claim]:
        values = (lease_until_us, now_us, expired_before_us, json.dumps(in_hand), limit)

        def work(driver: sqlite3.Connection) -> list[Claim]:
            for statement in _REDATE:
                driver.execute(statement, (now_us, now_us + _DATED_AHEAD_US))
            return [claim_of(row) for row in driver.execute(_RECLAIM, values).fetchall()]

        return await self._write(work)

    async def orphaned_before_us(self, now_us: int) -> int:
        """One process owns the file, so whatever was in progress at start belongs to nobody."""
        return _ANY_TIME

    async def next_due_us(self, now_us: int) -> int | None:
        def work(connection: Connection) -> int | None:
            due: int | None = _driver(connection).execute(_NEXT_DUE, (now_us,)).fetchone()[0]
            return due

        return await self._database.read(work)

    async def advance(self, claim: Claim, receipt: Receipt, *, now_us: int, lease_until_us: int) -> bool:
        def work(driver: sqlite3.Connection) -> bool:
            done = claim.parts_done + 1
            moved = driver.execute(_ADVANCE, (done, lease_until_us, now_us, claim.id, claim.fence)).rowcount == 1
            if moved:
                _RECEIPT.run(driver, [receipt_values(claim, receipt, now_us)])
            return moved

        return await self._write(work)

    def _insert_all(self, batch: Sequence[Written]) -> Awaitable[Sequence[Inserted]]:
        return self._write(lambda driver: _insert(driver, batch))

    def _find_all(self, keys: Sequence[str]) -> Awaitable[Sequence[Snapshot | None]]:
        return self._database.read(lambda connection: [_find(_driver(connection), key) for key in keys])

    def _mark(self, batch: Sequence[Marked]) -> Awaitable[set[str]]:
        rows = [mark_values(*one) for one in batch]
        return self._write(lambda driver: {row[0] for row in _MARK.run(driver, rows)})

    def _settle(self, batch: Sequence[Settlement]) -> Awaitable[set[str]]:
        return self._write(lambda driver: _settle(driver, batch))

    def _write(self, work: Callable[[sqlite3.Connection], _Result]) -> Awaitable[_Result]:
        return self._database.write(lambda connection: work(_driver(connection)))


def _driver(connection: Connection) -> sqlite3.Connection:
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)  # noqa: S101  # narrows the type; the engine is ours
    return driver


def _find(driver: sqlite3.Connection, key: str) -> Snapshot | None:
    row = driver.execute(_BY_KEY, (key,)).fetchone()
    if row is None:
        return None
    found = snapshot_of(row)
    if found.status is Status.DEAD_LETTERED:
        replayed = driver.execute(_DELIVERED_REPLAY, (found.id,)).fetchone()
        return snapshot_of(replayed) if replayed else found
    return found


def _insert(driver: sqlite3.Connection, batch: Sequence[Written]) -> list[Inserted]:
    """Leased only where nothing is ahead in the same thread, neither stored nor earlier in this batch."""
    threads = json.dumps([new.order_key for new, _ in batch])
    busy = {row[0] for row in driver.execute(_BUSY_THREADS, (threads,))}
    rows, leased = [], dict[DeliveryId, Lease]()
    for new, lease in batch:
        if lease is not None and new.status is Status.PENDING and new.order_key not in busy:
            leased[new.id] = lease
        busy.add(new.order_key)
        rows.append(insert_values(new, leased.get(new.id)))
    written = {row[0] for row in _INSERT.run(driver, rows)}
    return [_inserted(driver, new, leased.get(new.id), written=new.id in written) for new, _ in batch]


def _inserted(driver: sqlite3.Connection, new: NewDelivery, lease: Lease | None, *, written: bool) -> Inserted:
    if not written:
        existing = _find(driver, new.idempotency_key)
        assert existing is not None  # noqa: S101  # the conflict was with this very key
        return found_again(new, existing)
    if lease is None:
        return Inserted(created=True, snapshot=new_snapshot(new, new.status))
    claim = new.claimed(sending=lease.sending)
    return Inserted(created=True, snapshot=new_snapshot(new, Status.IN_PROGRESS), claim=claim)


def _claim(driver: sqlite3.Connection, channel: str, now_us: int, lease_until_us: int, limit: int) -> list[Claim]:
    """An equal share for every origin, so that a noisy one cannot starve the others."""
    origins = [row[0] for row in driver.execute(_ORIGINS, (channel,))]
    claims: list[Claim] = []
    for origin in origins:
        share = -(-limit // len(origins))
        rows = driver.execute(_CLAIM, (lease_until_us, now_us, channel, origin, share)).fetchall()
        claims += [claim_of(row) for row in rows]
    driver.executemany(_GIVE_WAY, [(claim.order_key, claim.origin_butler) for claim in claims])
    return sorted(claims, key=lambda claim: claim.id)


def _settle(driver: sqlite3.Connection, batch: Sequence[Settlement]) -> set[str]:
    settled = {row[0] for row in _SETTLE.run(driver, [settle_values(one) for one in batch])}
    done = [one for one in batch if one.claim.id in settled]
    _ATTEMPT.run(driver, [values for one in done if (values := attempt_values(one))])
    _RECEIPT.run(driver, [receipt_values(one.claim, one.receipt, one.at_us) for one in done if one.receipt])
    driver.executemany(_DEAD_LETTER, [values for one in done if (values := dead_letter_values(one))])
    return settled
