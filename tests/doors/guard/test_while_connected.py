"""Work for a caller who goes away is given up."""

from __future__ import annotations

import asyncio

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import Message

from postroom.doors.guard.while_connected import while_connected


def a_request(gone: asyncio.Event) -> Request:
    async def receive() -> Message:
        await gone.wait()
        return {"type": "http.disconnect"}

    return Request({"type": "http", "method": "GET", "path": "/", "headers": []}, receive)


async def test_what_is_done_in_time_is_the_answer() -> None:
    async def work() -> str:
        return "done"

    assert await while_connected(a_request(asyncio.Event()), work()) == "done"


async def test_an_error_of_the_work_is_the_callers() -> None:
    async def work() -> str:
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        await while_connected(a_request(asyncio.Event()), work())


async def test_the_work_is_cancelled_when_its_caller_has_gone() -> None:
    gone, cancelled = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        gone.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    with pytest.raises(HTTPException):
        await while_connected(a_request(gone), work())
    assert cancelled.is_set()
