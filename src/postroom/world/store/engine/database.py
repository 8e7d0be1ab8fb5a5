"""One way to run a piece of SQLAlchemy Core work, whichever database is behind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from sqlalchemy import Connection

from postroom.world.store.engine.along import Along

Result = TypeVar("Result")


class Database(Protocol):
    """Work is a plain function of a connection; a write is one transaction and may run again if it failed."""

    along: Along | None  # what goes with the deliveries that are stored here

    async def read(self, work: Callable[[Connection], Result]) -> Result: ...

    async def write(self, work: Callable[[Connection], Result]) -> Result: ...

    async def migrate(self, show: Callable[[int, int], None] | None = None) -> tuple[str | None, str | None]:
        """To the newest schema; `show` hears how many steps are done, and of how many."""
        ...

    async def close(self) -> None: ...
