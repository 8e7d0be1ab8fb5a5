"""An application that is put together for its first request: once, and again only if that failed."""

from __future__ import annotations

import asyncio

import pytest
from starlette.types import Receive, Scope, Send

from postroom.system.serving.when_asked import WhenAsked


class Application:
    def __init__(self) -> None:
        self.served = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.served += 1


class Builder:
    def __init__(self, *failures: Exception) -> None:
        self.failures, self.built = list(failures), list[Application]()

    def __call__(self) -> Application:
        if self.failures:
            raise self.failures.pop()
        self.built.append(Application())
        return self.built[-1]


async def ask(lazy: WhenAsked[Application]) -> None:
    async def receive() -> dict[str, str]:
        return {}

    async def send(_message: object) -> None:
        return None

    await lazy({"type": "http"}, receive, send)


async def test_nothing_is_built_before_somebody_asks() -> None:
    builder = Builder()
    WhenAsked(builder)

    assert not builder.built


async def test_many_who_ask_at_first_are_served_by_one() -> None:
    builder = Builder()
    lazy = WhenAsked(builder)

    await asyncio.gather(*(ask(lazy) for _ in range(10)))
    await ask(lazy)

    assert [one.served for one in builder.built] == [11]


async def test_what_could_not_be_built_is_tried_again_by_the_next() -> None:
    builder = Builder(RuntimeError("not now"))
    lazy = WhenAsked(builder)

    with pytest.raises(RuntimeError, match="not now"):
        await ask(lazy)
    await ask(lazy)

    assert [one.served for one in builder.built] == [1]
