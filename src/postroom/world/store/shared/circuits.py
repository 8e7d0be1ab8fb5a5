"""Circuits, remembered over a restart."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection, select

from postroom.domain.breaker import Circuit, CircuitState
from postroom.world.store.engine.database import Database
from postroom.world.store.engine.insert_for import insert_for
from postroom.world.store.engine.rows import values
from postroom.world.store.tables.deliveries import circuit_states


class StoredCircuits:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def save(self, channel: str, circuit: Circuit, now_us: int) -> None:
        """The newest generation wins, whichever process comes last."""
        row = values(circuit, without=("successes", "probes"), channel=channel, updated_at=now_us)

        def work(connection: Connection) -> None:
            written = insert_for(connection, circuit_states).values(row)
            newest = written.on_conflict_do_update(
                index_elements=["channel"],
                set_={name: written.excluded[name] for name in row},
                where=circuit_states.c.generation <= written.excluded.generation,
            )
            connection.execute(newest)

        await self._database.write(work)

    async def load(self) -> Mapping[str, Circuit]:
        def work(connection: Connection) -> dict[str, Circuit]:
            return {
                row.channel: Circuit(
                    state=CircuitState(row.state),
                    failures=row.failures,
                    opened_at_us=row.opened_at,
                    generation=row.generation,
                    reason=row.reason,
                    error_class=row.error_class,
                )
                for row in connection.execute(select(circuit_states))
            }

        return await self._database.read(work)
