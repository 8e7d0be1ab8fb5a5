"""The keys of calls on disk, so many of each caller at most."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, and_, delete, insert, select, update

from postroom.domain.idempotency_key import KeptAnswer, KeyClaim, KeyedCall
from postroom.world.store.engine.database import Database
from postroom.world.store.engine.retry_conflict import write_twice
from postroom.world.store.tables.idempotency_keys import idempotency_keys

MOST_PER_CALLER: Final = 10_000


class StoredIdempotencyKeys:
    def __init__(self, database: Database, most_per_caller: int = MOST_PER_CALLER) -> None:
        self._database = database
        self._most = most_per_caller

    async def claim(self, call: KeyedCall, reserved_id: str, now_us: int) -> KeyClaim:
        """The key is this call's from now on, or another's that came before."""

        def work(connection: Connection) -> KeyClaim:
            if known := connection.execute(select(idempotency_keys).where(_of(call))).first():
                return _claim(known)
            row = {**asdict(call), "reserved_id": reserved_id, "created_at": now_us}
            connection.execute(insert(idempotency_keys), row)
            self._forget_oldest(connection, call.caller)
            return KeyClaim(fingerprint=call.fingerprint, reserved_id=reserved_id, answer=None)

        return await write_twice(self._database, work)

    async def find(self, caller: str, key: str) -> KeyClaim | None:
        """Without claiming it."""
        wanted = select(idempotency_keys).where(idempotency_keys.c.caller == caller, idempotency_keys.c.key == key)
        row = await self._database.read(lambda connection: connection.execute(wanted).first())
        return None if row is None else _claim(row)

    async def keep(self, call: KeyedCall, answer: KeptAnswer) -> None:
        kept = update(idempotency_keys).where(_of(call)).values(status=answer.status, body=answer.body)
        await self._database.write(lambda connection: connection.execute(kept).rowcount)

    async def release(self, call: KeyedCall) -> None:
        """Nothing came of the call, so its key is free again."""
        gone = delete(idempotency_keys).where(_of(call), idempotency_keys.c.status.is_(None))
        await self._database.write(lambda connection: connection.execute(gone).rowcount)

    def _forget_oldest(self, connection: Connection, caller: str) -> None:
        table = idempotency_keys.c
        newest = select(table.created_at).where(table.caller == caller).order_by(table.created_at.desc())
        if (before := connection.execute(newest.offset(self._most).limit(1)).scalar()) is not None:
            connection.execute(delete(idempotency_keys).where(table.caller == caller, table.created_at <= before))


def _of(call: KeyedCall) -> ColumnElement[bool]:
    return and_(idempotency_keys.c.caller == call.caller, idempotency_keys.c.key == call.key)


def _claim(row: Any) -> KeyClaim:
    answer = KeptAnswer(status=row.status, body=row.body) if row.status is not None else None
    return KeyClaim(fingerprint=row.fingerprint, reserved_id=row.reserved_id, answer=answer)
