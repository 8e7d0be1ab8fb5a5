"""The registry as it was a moment ago, so that a notify need not read it from disk each time."""

from __future__ import annotations

from postroom.domain.ports import Clock
from postroom.domain.registry import Registration
from postroom.domain.time import seconds
from postroom.world.store.butlers.registry import StoredRegistry

_FRESH_SECONDS = 2.0


class CachedRegistry(StoredRegistry):
    """Changes made here are seen at once; changes made elsewhere within two seconds."""

    def __init__(self, stored: StoredRegistry, clock: Clock) -> None:
        super().__init__(stored._database, stored._mint)
        self._clock = clock
        self._known: dict[str, tuple[int, Registration | None]] = {}

    async def find(self, name: str) -> Registration | None:
        now = self._clock.now_us()
        fresh_until, known = self._known.get(name, (0, None))
        if now >= fresh_until:
            known = await super().find(name)
            self._known[name] = (now + seconds(_FRESH_SECONDS), known)
        return known

    async def register(self, one: Registration) -> None:
        await super().register(one)
        self._known.clear()

    async def quarantine(self, name: str, reason: str | None) -> bool:
        found = await super().quarantine(name, reason)
        self._known.clear()
        return found
