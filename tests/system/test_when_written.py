"""What an answer leaves to be noted is noted when somebody is there to read it, and before they can have read it."""

from __future__ import annotations

import asyncio

import pytest
from starlette.types import Message, Receive, Scope, Send

from postroom.system.when_written import answering, when_written


@pytest.mark.parametrize(("leaves", "said"), [(False, ["start", "noted", "body"]), (True, ["start", "body"])])
async def test_it_is_noted_before_the_bytes_that_tell_of_it_unless_their_reader_has_hung_up(
    leaves: bool, said: list[str]
) -> None:
    happened, gone = list[str](), asyncio.Event()

    async def note() -> None:
        happened.append("noted")

    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200})
        if leaves:
            gone.set()
        await asyncio.create_task(when_written(note))  # as a framework's own task would
        assert "noted" not in happened
        await send({"type": "http.response.body", "body": b"told"})
        await when_written(note)

    async def receive() -> Message:
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        happened.append(message["type"].rpartition(".")[2])

    await answering(app, {"type": "http"}, receive, send)

    assert happened == ([*said] if leaves else [*said, "noted"])


async def test_outside_of_any_answer_it_is_noted_at_once() -> None:
    happened = list[str]()

    async def note() -> None:
        happened.append("noted")

    await when_written(note)
    assert happened == ["noted"]
