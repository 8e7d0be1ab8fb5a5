"""The registry as it was a moment ago, so that a notify need not read it from disk each time."""

from __future__ import annotations

import asyncio
from functools import partial

from postroom.domain.clock import Clock
from postroom.domain.registry import Registration
from postroom.domain.time import seconds
from postroom.world.store.butlers.registry import StoredRegistry

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
