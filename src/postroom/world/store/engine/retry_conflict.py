"""A write that another process got in the way of is worth a second try."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from postroom.world.store.engine.database import Database

Result = TypeVar("Result")


async def write_twice(database: Database, work: Callable[[Connection], Result]) -> Result:
    """The work looks before it writes, so the second time it sees what was written meanwhile."""
    try:
        return await database.write(work)
    except IntegrityError:
        return await database.write(work)
