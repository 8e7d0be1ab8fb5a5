"""Which processes send for a household: each writes every few seconds that it lives, and others read who did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from sqlalchemy import BigInteger, Boolean, Column, Connection, Table, Text, delete, select

from postroom.kernel.database.engine import Database, insert_for
from postroom.kernel.database.schema import SHARED, metadata
from postroom.kernel.running.clock import Clock
from postroom.kernel.values.ids import seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class LivingWorker:
    """`alone`: it does nothing else."""

    name: str
    alone: bool
    since_us: int
    seen_us: int

    @property
    def words(self) -> str:
        return f"{'postroom worker' if self.alone else 'postroom up'} on {self.name}"


workers = Table(
    "workers",
    metadata,
    Column("name", Text, primary_key=True),
    Column("alone", Boolean, nullable=False),
    Column("since", BigInteger, nullable=False),
    Column("seen_at", BigInteger, nullable=False),
    schema=SHARED,
)


BEAT_SECONDS: Final = 10.0
_LIVES_SECONDS: Final = 30.0
_FORGOTTEN_SECONDS: Final = 3_600.0
_c = workers.c


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerPulse:
    """Of this process."""

    database: Database
    clock: Clock
    worker: LivingWorker

    async def look(self) -> int:
        """One beat; when the next is due. Rows of those who died are swept on the way."""
        now_us = self.clock.now_us()
        one = replace(self.worker, seen_us=now_us)
        row = {"name": one.name, "alone": one.alone, "since": one.since_us, "seen_at": one.seen_us}
        old = delete(workers).where(_c.seen_at < now_us - seconds(_FORGOTTEN_SECONDS))

        def work(connection: Connection) -> None:
            connection.execute(old)
            put = insert_for(connection, workers).values(row)
            connection.execute(put.on_conflict_do_update(index_elements=["name"], set_=row))

        await self.database.write(work)
        return now_us + seconds(BEAT_SECONDS)

    async def stop(self) -> None:
        gone = delete(workers).where(_c.name == self.worker.name)
        await self.database.write(lambda connection: connection.execute(gone).rowcount)


def living(connection: Connection, now_us: int) -> Sequence[LivingWorker]:
    asked = select(workers).where(_c.seen_at >= now_us - seconds(_LIVES_SECONDS)).order_by(_c.alone, _c.name)
    return [
        LivingWorker(name=row.name, alone=bool(row.alone), since_us=row.since, seen_us=row.seen_at)
        for row in connection.execute(asked)
    ]
