"""A real deadlock of PostgreSQL, whose victim is always the one under test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeAlias

import asyncpg
from tests.patience import PATIENCE_SECONDS

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

_HELD, _WANTED, _GATE = 4801, 4802, 4803
# The victim is the one who begins to wait last, and who looks first whether it waits in a circle.
_MEET = f"""
    create sequence deadlocks;
    create function meet_deadlock() returns void language plpgsql as $$ begin
        if nextval('deadlocks') = 1 then
            perform set_config('deadlock_timeout', '10ms', true);
            perform pg_advisory_xact_lock({_WANTED});
            perform pg_advisory_xact_lock({_GATE});
            perform pg_advisory_xact_lock({_HELD});
        end if;
    end $$
"""


@asynccontextmanager
async def deadlock(url: str) -> AsyncIterator[None]:
    """Meanwhile the first transaction that calls `meet_deadlock()` is ended by the server; the next ones go on."""
    other, gate = await asyncpg.connect(url), await asyncpg.connect(url)
    try:
        await other.execute(_MEET)
        await other.execute(f"set deadlock_timeout = '1h'; select pg_advisory_lock({_HELD})")
        await gate.execute(f"select pg_advisory_lock({_GATE})")
        closing = asyncio.create_task(_close_the_circle(other, gate))
        try:
            yield
        finally:
            await closing
    finally:
        await gate.close()
        await other.execute("drop function meet_deadlock cascade; drop sequence deadlocks")
        await other.close()


async def _close_the_circle(other: Connection, gate: Connection) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        await _waited_for(gate, _GATE)
        waiting = asyncio.create_task(other.execute(f"select pg_advisory_lock({_WANTED})"))
        await _waited_for(gate, _WANTED)
        await gate.execute(f"select pg_advisory_unlock({_GATE})")
        await waiting
        await other.execute("select pg_advisory_unlock_all()")


async def _waited_for(watcher: Connection, lock: int) -> None:
    waiting = "select count(*) from pg_locks where locktype = 'advisory' and objid = $1 and not granted"
    while not await watcher.fetchval(waiting, lock):
        pass
