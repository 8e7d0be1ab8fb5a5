"""The switchboard's registry of butlers: who is in the household and when each was last alive."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Float,
    Row,
    Table,
    Text,
    insert,
    select,
    update,
)

from postroom.butlers.model import (
    Eligibility,
    Registration,
    eligibility,
)
from postroom.kernel.database.engine import Database
from postroom.kernel.database.rows import read
from postroom.kernel.database.schema import SWITCHBOARD, metadata
from postroom.kernel.running.clock import Clock
from postroom.kernel.values.errors import TargetUnavailable, ValidationError
from postroom.kernel.values.ids import seconds

butler_registry = Table(
    "butler_registry",
    metadata,
    Column("name", Text, primary_key=True),
    Column("endpoint_url", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("modules", Text, nullable=False),
    Column("liveness_ttl_seconds", Float, nullable=False),
    Column("registered_at", BigInteger, nullable=False),
    Column("last_seen_at", BigInteger, nullable=False),
    Column("quarantine_reason", Text),
    schema=SWITCHBOARD,
)

_registry_c = butler_registry.c


class StoredRegistry:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, name: str) -> Registration | None:
        def work(connection: Connection) -> Registration | None:
            row = connection.execute(select(butler_registry).where(_registry_c.name == name)).first()
            return _registry_of(row) if row else None

        return await self._database.read(work)

    async def all(self) -> list[Registration]:
        everyone = select(butler_registry).order_by(_registry_c.name)
        return await self._database.read(lambda connection: [_registry_of(row) for row in connection.execute(everyone)])

    async def register(self, one: Registration) -> None:
        """A butler that comes back is no longer stale, but stays quarantined until released."""

        def work(connection: Connection) -> None:
            values = {
                "endpoint_url": one.endpoint_url,
                "description": one.description,
                "modules": json.dumps(list(one.modules)),
                "liveness_ttl_seconds": one.liveness_ttl_seconds,
                "last_seen_at": one.last_seen_at_us,
            }
            if not connection.execute(
                update(butler_registry).where(_registry_c.name == one.name).values(**values)
            ).rowcount:
                connection.execute(
                    insert(butler_registry).values(name=one.name, registered_at=one.last_seen_at_us, **values)
                )

        await self._database.write(work)

    async def seen(self, name: str, now_us: int) -> None:
        alive = (
            update(butler_registry)
            .where(_registry_c.name == name, _registry_c.last_seen_at < now_us)
            .values(last_seen_at=now_us)
        )
        await self._database.write(lambda connection: connection.execute(alive).rowcount)

    async def quarantine(self, name: str, reason: str | None) -> bool:
        changed = update(butler_registry).where(_registry_c.name == name).values(quarantine_reason=reason)
        return await self._database.write(lambda connection: connection.execute(changed).rowcount > 0)


def _registry_of(row: Row[Any]) -> Registration:
    return read(Registration, row, modules=tuple(json.loads(row.modules)))


# As it was a moment ago, so that a notify need not read it from disk each time.

_FRESH_SECONDS = 2.0


class CachedRegistry(StoredRegistry):
    """Changes made here are seen at once; changes made elsewhere within two seconds."""

    def __init__(self, stored: StoredRegistry, clock: Clock) -> None:
        super().__init__(stored._database)
        self._clock = clock
        self._known: dict[str, tuple[int, Registration | None]] = {}
        self._looking: dict[str, asyncio.Task[Registration | None]] = {}

    async def find(self, name: str) -> Registration | None:
        """A crowd that finds it too old looks once."""
        fresh_until, known = self._known.get(name, (0, None))
        if self._clock.now_us() < fresh_until:
            return known
        if (looking := self._looking.get(name)) is None:
            looking = self._looking[name] = asyncio.create_task(super().find(name))
            looking.add_done_callback(partial(self._found, name, self._clock.now_us() + seconds(_FRESH_SECONDS)))
        return await asyncio.shield(looking)  # whoever leaves takes nobody along

    def _found(self, name: str, fresh_until: int, looking: asyncio.Task[Registration | None]) -> None:
        """What was changed here since is not undone by a look that began before it."""
        if self._looking.get(name) is looking:
            del self._looking[name]
            if not looking.cancelled() and not looking.exception():
                self._known[name] = (fresh_until, looking.result())

    def _forget(self) -> None:
        self._known.clear()
        self._looking.clear()

    async def register(self, one: Registration) -> None:
        await super().register(one)
        self._forget()

    async def quarantine(self, name: str, reason: str | None) -> bool:
        found = await super().quarantine(name, reason)
        self._forget()
        return found


# Who can be reached, or why not.


async def look_up(registry: StoredRegistry, name: str, now_us: int) -> Registration:
    found = await registry.find(name)
    if found is None:
        raise ValidationError(f"no butler called '{name[:64]}' is registered")
    state, reason = eligibility(found, now_us)
    match state:
        case Eligibility.ACTIVE:
            return found
        case Eligibility.STALE:
            raise TargetUnavailable(f"{name} is stale: {reason}")
        case Eligibility.QUARANTINED:
            raise TargetUnavailable(f"{name} is quarantined: {reason}")


async def look_up_messenger(registry: StoredRegistry, now_us: int) -> Registration:
    """No caller asked for it by name: that it is missing is our trouble, and may pass."""
    try:
        return await look_up(registry, "messenger", now_us)
    except ValidationError:
        raise TargetUnavailable("the messenger has not reported to the switchboard yet") from None
