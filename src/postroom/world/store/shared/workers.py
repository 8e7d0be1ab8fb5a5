"""Which processes send for this household: each writes that it lives, and whoever asks reads which did lately."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from sqlalchemy import Connection, delete, select

from postroom.domain.clock import Clock
from postroom.domain.living_worker import LivingWorker
from postroom.domain.time import seconds
from postroom.world.store.engine.database import Database
from postroom.world.store.engine.insert_for import insert_for
from postroom.world.store.tables.workers import workers

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
