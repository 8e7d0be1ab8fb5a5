"""The delivery ledger on PostgreSQL: each operation is one statement over a batch."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import asyncpg
from sqlalchemy import BigInteger, Boolean, Float, Integer, SmallInteger, Table, Text

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
    redating,
    refusal_values,
    settle_values,
    settling,
    snapshot_of,
)
from postroom.delivery.store.tables import delivery_attempts, delivery_refusals, delivery_requests
from postroom.kernel.database.engine import PENDING_CHANNEL, SETTLED_CHANNEL, Coalescer
from postroom.kernel.database.postgres import PostgresDatabase
from postroom.kernel.values.ids import DeliveryId
from postroom.message.delivery import Receipt, Status

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

_IDS_PER_NOTICE: Final = 200  # a notice carries at most 8,000 bytes

_STATUSES: Final = {str(one): one for one in Status}
_KEY: Final = INSERT_COLUMNS.index("idempotency_key")
_TYPE_NAMES: Final = {
    Text: "text",
    Boolean: "bool",
    SmallInteger: "int2",
    Integer: "int4",
    BigInteger: "int8",
    Float: "float8",
}


# Rows as columns of text that the server takes apart: the driver then looks at one value for each of them.

_SECRET: Final = secrets.token_hex(8)  # nobody who writes a text knows it
_BETWEEN: Final = f"\x1f{_SECRET}"
_NOTHING: Final = f"\x1e{_SECRET}"
MARKS: Final = (_BETWEEN, _NOTHING)
_ARRAY: Final = re.compile(r"\$(\d+)::(\w+)\[\]")


def taking_apart(statement: str) -> str:
    """The statement with its arrays made from columns; it takes `MARKS` after everything else."""
    last = max(int(number) for number in re.findall(r"\$(\d+)", statement))

    def array(found: re.Match[str]) -> str:
        apart = f"(string_to_array(${found[1]}, ${last + 1}, ${last + 2}))[2:]"
        return apart if found[2] == "text" else f"{apart}::{found[2]}[]"

    return _ARRAY.sub(array, statement)


def columns(rows: Sequence[Sequence[Any]], width: int = 0) -> list[str]:
    """A column that is empty in every row stays empty: `unnest` fills it up."""
    if not rows:
        return [""] * width
    joined, marks = _alone(rows[0]) if len(rows) == 1 else _together(rows)
    if "".join(joined).count(_SECRET) != marks:
        raise ValueError("a text cannot hold the mark between texts")
    return joined


def _alone(row: Sequence[Any]) -> tuple[list[str], int]:
    """As whoever calls alone hands it in. A mark before the first, for without it an empty text would be no text."""
    joined = ["" if one is None else f"{_BETWEEN}{one!s}" for one in row]
    return joined, len(joined) - joined.count("")


def _together(rows: Sequence[Sequence[Any]]) -> tuple[list[str], int]:
    """A column has one type, so its first value tells."""
    joined, marks, height = [], 0, len(rows)
    for column in zip(*rows, strict=True):
        if (nothing := column.count(None)) == height:
            joined.append("")
            continue
        plain = not nothing and type(column[0]) is str
        given = column if plain else [_NOTHING if one is None else str(one) for one in column]
        joined.append(_BETWEEN + _BETWEEN.join(given))
        marks += height + nothing
    return joined, marks


def _typed(table: Table, names: Iterable[str]) -> dict[str, str]:
    return {name: _TYPE_NAMES[type(table.c[name].type)] for name in names}


def _unnest(types: Mapping[str, str], alias: str, first: int = 1) -> str:
    """The rows behind as many parameters as there are columns, from number `first` on."""
    arrays = ", ".join(f"${number}::{type_}[]" for number, type_ in enumerate(types.values(), first))
    return f"unnest({arrays}) AS {alias} ({', '.join(types)})"


# A row that is held is looked up by its id. Where the planner can see that only what is in progress matters, it may
# walk the index over just that, and with it all that has left it since the last vacuum; so it must not see it. For the
# same reason the insert counts to one instead of asking whether something exists; and it counts once, hence the OFFSET.
_HELD = "one.status || '' = 'in_progress'"
_LEASED = {
    "status": "CASE WHEN free THEN new.status ELSE 'pending' END",
    "lease_until": "CASE WHEN free THEN new.lease_until END",
    "sending": "free AND new.sending",
}
_INSERT = taking_apart(f"""
    WITH written AS (
    INSERT INTO messenger.delivery_requests ({", ".join((*INSERT_COLUMNS, *INITIALLY))})
    SELECT {", ".join((*(_LEASED.get(name, f"new.{name}") for name in INSERT_COLUMNS), *INITIALLY.values()))}
    FROM {_unnest(_typed(delivery_requests, INSERT_COLUMNS), "new")}
    CROSS JOIN LATERAL (SELECT new.status <> 'in_progress' OR (SELECT count(*) FROM (
        SELECT 1 FROM messenger.delivery_requests AS ahead
        WHERE ahead.order_key = new.order_key AND ahead.status IN ('pending', 'in_progress') LIMIT 1) AS one
        ) = 0 AS free OFFSET 0) AS thread
    ON CONFLICT (idempotency_key) DO NOTHING
    RETURNING id, status),
    told AS MATERIALIZED (
        SELECT pg_notify('{PENDING_CHANNEL}', '')
        WHERE ${len(INSERT_COLUMNS) + 1} AND EXISTS (SELECT 1 FROM written WHERE status = 'pending'))
    SELECT id, status, (SELECT count(*) FROM told) FROM written
""")
_BY_KEYS = f"""
    SELECT {SNAPSHOT} FROM messenger.delivery_requests WHERE idempotency_key = ANY ($1)
"""
_BY_ID = f"SELECT {SNAPSHOT} FROM messenger.delivery_requests WHERE id = $1"
_DELIVERED_REPLAY = f"""
    SELECT {SNAPSHOT} FROM messenger.delivery_requests WHERE replay_of = $1 AND status = 'delivered'
    LIMIT 1
"""
_CLAIM = f"""
    WITH RECURSIVE {origins("messenger.delivery_requests", "$4")},
    share AS (SELECT ceil($3::numeric / greatest(count(name), 1))::int AS size FROM origin),
    due AS MATERIALIZED (
        SELECT mine.id, mine.order_key, origin.name FROM origin CROSS JOIN share CROSS JOIN LATERAL (
            SELECT one.id, one.order_key FROM messenger.delivery_requests AS one
            WHERE one.status = 'pending' AND one.channel = $4 AND one.origin_butler = origin.name
              AND one.not_before <= $1
              AND {in_turn("messenger.delivery_requests", "one", "$1")}
            ORDER BY one.priority, one.not_before LIMIT share.size FOR UPDATE SKIP LOCKED) AS mine
        WHERE origin.name IS NOT NULL),
    gave_way AS (
        UPDATE messenger.delivery_requests AS one SET turn = others.latest + 1
        FROM due CROSS JOIN LATERAL (
            SELECT max(turn) AS latest FROM messenger.delivery_requests
            WHERE order_key = due.order_key AND status = 'pending' AND origin_butler <> due.name) AS others
        CROSS JOIN LATERAL (
            SELECT min(id) AS id FROM messenger.delivery_requests
            WHERE order_key = due.order_key AND status = 'pending' AND origin_butler = due.name
              AND id > due.id) AS following
        WHERE others.latest IS NOT NULL AND one.id = following.id)
    UPDATE messenger.delivery_requests AS one
    SET status = 'in_progress', {CLAIMS.taking("$2")}, updated_at = $1
    WHERE one.id = ANY (ARRAY(SELECT id FROM due)) AND one.status = 'pending'
    RETURNING {CLAIMED}
"""
_RECLAIM = f"""
    UPDATE messenger.delivery_requests AS one
    SET {CLAIMS.taking("$3")}, {MARKED_SINCE}, updated_at = $2
    WHERE one.id = ANY (ARRAY(
        SELECT id FROM messenger.delivery_requests WHERE status = 'in_progress' AND lease_until < $1
          AND NOT id = ANY ($5)
        LIMIT $4 FOR UPDATE SKIP LOCKED))
    RETURNING {CLAIMED}
"""
_DATED_AHEAD_US: Final = 60_000_000  # as far as the clocks of two hosts may disagree
_REDATE = redating("messenger.delivery_requests", "$1", "$2", "= ANY (ARRAY({} FOR UPDATE SKIP LOCKED))")
_NEXT_DUE = "SELECT min(not_before) FROM messenger.delivery_requests WHERE status = 'pending' AND not_before > $1"
_MARK = taking_apart(f"""
    UPDATE messenger.delivery_requests AS one
    SET sending = true, lease_until = mine.lease_until, updated_at = mine.now, possible_duplicate = mine.repeats
    FROM unnest($1::text[], $2::int4[], $3::int8[], $4::int8[], $5::bool[])
        AS mine (id, fence, lease_until, now, repeats)
    WHERE {CLAIMS.held("one", "mine.id", "mine.fence")} AND {_HELD}
    RETURNING one.id
""")
_ADVANCE = f"""
    WITH moved AS (
        UPDATE messenger.delivery_requests AS one
        SET parts_done = $3, lease_until = $4, updated_at = $5, doubtful_since = NULL
        WHERE {CLAIMS.held("one", "$1", "$2")} AND {_HELD} RETURNING id),
    received AS (
        INSERT INTO messenger.delivery_receipts SELECT id, $3, $6, $7, $5, $8, $9 FROM moved ON CONFLICT DO NOTHING)
    SELECT id FROM moved
"""
_DONE: Final = _typed(delivery_requests, SETTLE_COLUMNS) | {
    "id": "text",
    "fence": "int4",
    "part": "int4",
    "receipt_type": "text",
    "conversation": "text",
    "about": "text",
}
_MADE: Final = _typed(delivery_attempts, delivery_attempts.c.keys())
_DEAD: Final = {
    "id": "text",
    "delivery": "text",
    "reason": "text",
    "error_class": "text",
    "summary": "text",
    "attempts": "int4",
    "at": "int8",
}
_FIRST_MADE: Final = 1 + len(_DONE)
_FIRST_DEAD: Final = _FIRST_MADE + len(_MADE)
_SETTLE = taking_apart(f"""
    WITH done AS (SELECT * FROM {_unnest(_DONE, "mine")}),
    settled AS (
        UPDATE messenger.delivery_requests AS one SET {settling("one", "done")}
        FROM done WHERE {CLAIMS.held("one", "done.id", "done.fence")} AND {_HELD}
        RETURNING one.id, one.terminal_at IS NOT NULL AS final),
    attempted AS (
        INSERT INTO messenger.delivery_attempts ({", ".join(_MADE)})
        SELECT made.* FROM {_unnest(_MADE, "made", _FIRST_MADE)}
        JOIN settled ON settled.id = made.delivery_request_id),
    received AS (
        INSERT INTO messenger.delivery_receipts
        SELECT done.id, done.part, done.provider_delivery_id, done.receipt_type, done.updated_at, done.conversation,
            done.about
        FROM done JOIN settled ON settled.id = done.id
        WHERE done.provider_delivery_id IS NOT NULL ON CONFLICT DO NOTHING),
    quarantined AS (
        INSERT INTO messenger.delivery_dead_letter (id, delivery_request_id, quarantine_reason, error_class,
            error_summary, total_attempts, replay_count, created_at)
        SELECT dead.id, dead.delivery, dead.reason, dead.error_class, dead.summary, dead.attempts, 0, dead.at
        FROM {_unnest(_DEAD, "dead", _FIRST_DEAD)}
        JOIN settled ON settled.id = dead.delivery),
    told AS MATERIALIZED (
        SELECT pg_notify('{SETTLED_CHANNEL}', string_agg(id, ' ')) FROM (
            SELECT id, (row_number() OVER () - 1) / {_IDS_PER_NOTICE} AS page
            FROM settled WHERE ${_FIRST_DEAD + len(_DEAD)} AND final
        ) AS pages GROUP BY page)
    SELECT id, (SELECT count(*) FROM told) FROM settled
""")
_REFUSE = taking_apart(f"""
    INSERT INTO messenger.delivery_refusals ({", ".join(REFUSAL_COLUMNS)})
    SELECT * FROM {_unnest(_typed(delivery_refusals, REFUSAL_COLUMNS), "refused")}
""")


class PostgresLedger(DeliveryLedger):
    """
    `tell` sends notices to other processes: a pending row nobody here will take,
    a settled delivery somebody elsewhere may be waiting for.
    """

    def __init__(self, database: PostgresDatabase, *, tell: bool = True) -> None:
        super().__init__(by_halves=True)
        self._database = database
        self._tell = tell
        self._refusals: Coalescer[Refusal, None] = Coalescer(self._refuse_all)

    async def get(self, delivery_id: DeliveryId) -> Snapshot | None:
        row = await self._database.hot(lambda connection: connection.fetchrow(_BY_ID, delivery_id))
        return snapshot_of(row) if row else None

    async def refuse(self, refusal: Refusal) -> None:
        await self._refusals.submit(refusal)

    async def claim(self, channel: str, *, now_us: int, lease_until_us: int, limit: int) -> Sequence[Claim]:
        rows = await self._database.hot(
            lambda connection: connection.fetch(_CLAIM, now_us, lease_until_us, limit, channel)
        )
        return sorted((claim_of(row) for row in rows), key=lambda claim: claim.id)

    async def reclaim(
        self,
        *,
        expired_before_us: int,
        now_us: int,
        lease_until_us: int,
        limit: int,
        in_hand: Sequence[DeliveryId] = (),
    ) -> Sequence[Claim]:
        async def work(connection: Connection) -> list[asyncpg.Record]:
            for statement in _REDATE:
                await connection.execute(statement, now_us, now_us + _DATED_AHEAD_US)
            return await connection.fetch(_RECLAIM, expired_before_us, now_us, lease_until_us, limit, list(in_hand))

        return [claim_of(row) for row in await self._database.hot(work)]

    async def orphaned_before_us(self, now_us: int) -> int:
        """Other workers may be alive, so only an expired lease tells."""
        return now_us

    async def next_due_us(self, now_us: int) -> int | None:
        due: int | None = await self._database.hot(lambda connection: connection.fetchval(_NEXT_DUE, now_us))
        return due

    async def advance(self, claim: Claim, receipt: Receipt, *, now_us: int, lease_until_us: int) -> bool:
        known_as = (receipt.provider_id, str(receipt.kind), receipt.conversation, receipt.about)
        values = (claim.id, claim.fence, claim.parts_done + 1, lease_until_us, now_us, *known_as)
        moved = await self._database.hot(lambda connection: connection.fetchval(_ADVANCE, *values))
        return moved is not None

    async def _insert_all(self, batch: Sequence[Written]) -> Sequence[Inserted]:
        rows, leased = [], set[str]()
        for new, lease in batch:
            thread = new.order_key
            rows.append(insert_values(new, None if thread in leased else lease))
            leased.add(thread)
        rows.sort(key=lambda row: row[_KEY])  # two processes with the same keys wait for each other in one order only

        async def work(connection: Connection) -> tuple[dict[str, str], dict[str, Snapshot]]:
            found = await connection.fetch(_INSERT, *columns(rows), self._tell, *MARKS)
            written = {row[0]: row[1] for row in found}
            known = [new.idempotency_key for new, _ in batch if new.id not in written]
            return written, await _find(connection, known) if known else {}

        written, existing = await self._database.hot(work)
        return [_inserted(new, lease, written.get(new.id), existing) for new, lease in batch]

    async def _find_all(self, keys: Sequence[str]) -> Sequence[Snapshot | None]:
        found = await self._database.hot(lambda connection: _find(connection, keys))
        return [found.get(key) for key in keys]

    async def _mark(self, batch: Sequence[Marked]) -> set[str]:
        rows = [mark_values(*one) for one in batch]
        found = await self._database.hot(lambda connection: connection.fetch(_MARK, *columns(rows), *MARKS))
        return {row[0] for row in found}

    async def _settle(self, batch: Sequence[Settlement]) -> set[str]:
        done = columns([(*settle_values(one), *_received(one)) for one in batch])
        attempts = columns([values for one in batch if (values := attempt_values(one))], width=len(_MADE))
        dead = columns([values for one in batch if (values := dead_letter_values(one))], width=len(_DEAD))
        found = await self._database.hot(
            lambda connection: connection.fetch(_SETTLE, *done, *attempts, *dead, self._tell, *MARKS)
        )
        return {row[0] for row in found}

    async def _refuse_all(self, batch: Sequence[Refusal]) -> Sequence[None]:
        values = columns([refusal_values(refusal) for refusal in batch])
        await self._database.hot(lambda connection: connection.execute(_REFUSE, *values, *MARKS))
        return [None] * len(batch)


def _received(done: Settlement) -> tuple[int, str | None, str | None, str | None]:
    part, receipt = done.claim.parts_done + 1, done.receipt
    return (part, str(receipt.kind), receipt.conversation, receipt.about) if receipt else (part, None, None, None)


def _inserted(new: NewDelivery, lease: Lease | None, status: str | None, existing: dict[str, Snapshot]) -> Inserted:
    if status is None:
        return found_again(new, existing[new.idempotency_key])
    claim = new.claimed(sending=lease.sending) if lease and status == Status.IN_PROGRESS else None
    return Inserted(created=True, snapshot=new_snapshot(new, _STATUSES[status]), claim=claim)


async def _find(connection: Connection, keys: Sequence[str]) -> dict[str, Snapshot]:
    found: dict[str, Snapshot] = {}
    for row in await connection.fetch(_BY_KEYS, list(keys)):
        snapshot = snapshot_of(row)
        if snapshot.status is Status.DEAD_LETTERED:
            replayed = await connection.fetchrow(_DELIVERED_REPLAY, snapshot.id)
            found[snapshot.idempotency_key] = snapshot_of(replayed) if replayed else snapshot
        else:
            found[snapshot.idempotency_key] = snapshot
    return found
