"""What reads a long text does so beside the event loop: nobody else's call waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

LONG: Final = 1_000  # characters; shorter ones take some ten milliseconds at most, whatever stands in them
_READER: Final = ThreadPoolExecutor(1, "long-texts")  # one at a time: more would only share the processor
Made = TypeVar("Made")


async def beside_if_long(characters: int, work: Callable[[], Made]) -> Made:
    if characters < LONG:
        return work()
    return await asyncio.get_running_loop().run_in_executor(_READER, work)
