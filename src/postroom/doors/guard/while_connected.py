"""Work that is given up when the caller it is done for has gone."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request

Value = TypeVar("Value")
_GONE = 499  # no one reads it; in the log it is what it is


async def while_connected(request: Request, work: Coroutine[Any, Any, Value]) -> Value:
    """The body of the request must have been read. What comes too late for its caller is cancelled."""
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise HTTPException(_GONE, "the caller has gone")
        return working.result()
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
