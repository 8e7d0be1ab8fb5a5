"""What is only true once an answer goes out to a caller who is still there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

Note = Callable[[], Awaitable[Any]]


class _Answer:
    """The one that is being made; `is_gone` is its reader."""

    def __init__(self) -> None:
        self.notes: list[Note] = []
        self.is_over = False
        self.is_gone = False


_ANSWER: ContextVar[_Answer | None] = ContextVar("answer", default=None)


async def when_written(note: Note) -> None:
    """Now, where nothing is being answered; never, when the caller has hung up before the answer was there."""
    answer = _ANSWER.get()
    if answer is None or (answer.is_over and not answer.is_gone):
        await note()
    elif not answer.is_gone:
        answer.notes.append(note)


async def answering(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """What `app` leaves to be noted is noted before the bytes that tell of it leave: who has read them finds it so."""
    answer = _Answer()

    async def noted(message: Message) -> None:
        while answer.notes and not answer.is_gone:
            answer.is_gone = await _has_hung_up(receive)
            if not answer.is_gone:
                await answer.notes.pop(0)()
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            answer.is_over = True
        await send(message)

    token = _ANSWER.set(answer)
    try:
        await app(scope, receive, noted)
    finally:
        answer.is_gone = answer.is_gone or not answer.is_over
        _ANSWER.reset(token)


async def _has_hung_up(receive: Receive) -> bool:
    """What the server knows by now; the body has been read, so nothing else can come."""
    hearing = asyncio.ensure_future(receive())
    await asyncio.sleep(0)
    if not hearing.done():
        hearing.cancel()
        await asyncio.gather(hearing, return_exceptions=True)
        return False
    return bool(hearing.result()["type"] == "http.disconnect")
