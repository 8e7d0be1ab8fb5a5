"""What may go to disk in the commit of another, instead of in one of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from postroom.domain.errors import StoreUnavailable

Waiting: TypeAlias = Sequence[tuple[Any, "asyncio.Future[None]"]]


@dataclass(frozen=True, slots=True)
class Along:
    """Where it waits: `take` all of it, or `put_back` what could not go."""

    take: Callable[[], Waiting]
    put_back: Callable[[Waiting], None]


@contextmanager
def carrying(along: Along | None) -> Iterator[Sequence[Any]]:
    """What waits now; it is written when the block ends well. A store that is away is away for all of it."""
    if along is None:
        yield ()
        return
    taken = along.take()
    try:
        yield [item for item, _ in taken]
    except StoreUnavailable as error:
        for written in _open(taken):
            written.set_exception(error)
        raise
    except BaseException:
        along.put_back(taken)  # it may not be its fault, so it goes by itself
        raise
    for written in _open(taken):
        written.set_result(None)


def _open(taken: Waiting) -> list[asyncio.Future[None]]:
    return [written for _, written in taken if not written.done()]
