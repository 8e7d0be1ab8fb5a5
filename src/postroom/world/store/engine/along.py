"""What may go to disk in the commit of another, instead of in one of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from postroom.domain.errors import StoreUnavailable

Result = TypeVar("Result")
Waiting: TypeAlias = Sequence[tuple[Any, "asyncio.Future[None]"]]


@dataclass(frozen=True, slots=True)
class Along:
    """Where it waits: `take` all of it, or `put_back` what could not go."""

    take: Callable[[], Waiting]
    put_back: Callable[[Waiting], None]


async def carrying(along: Along | None, write: Callable[[Sequence[Any]], Awaitable[Result]]) -> Result:
    """
    Writes with what waits now. A store that is away is away for all of it.

    Any other failure may be the fault of what was taken along: it goes by itself, and so does the other.
    """
    if along is None or not (taken := along.take()):
        return await write(())
    try:
        result = await write([item for item, _ in taken])
    except StoreUnavailable as error:
        for written in _open(taken):
            written.set_exception(error)
        raise
    except BaseException as error:
        along.put_back(taken)
        if isinstance(error, Exception):
            return await write(())
        raise
    for written in _open(taken):
        written.set_result(None)
    return result


def _open(taken: Waiting) -> list[asyncio.Future[None]]:
    return [written for _, written in taken if not written.done()]
