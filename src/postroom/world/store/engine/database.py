"""One way to run a piece of SQLAlchemy Core work, whichever database is behind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from sqlalchemy import Connection

Result = TypeVar("Result")


class Database(Protocol):
    """Work is a plain function of a connection; a write is one transaction and may run again if it failed."""

    async def read(self, work: Callable[[Connection], Result]) -> Result: ...

    async def write(self, work: Callable[[Connection], Result]) -> Result: ...

    async def migrate(self, show: Callable[[int, int], None] | None = None) -> tuple[str | None, str | None]:
        """To the newest schema; `show` hears how many steps are done, and of how many."""
        ...

    async def close(self) -> None: ...
