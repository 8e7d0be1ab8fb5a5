"""A running product as the race sees it: ask, wait, answer; each is one documented HTTP call."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from chaos.tokens import text_of

from benchmarks.peers.asking.place import Place
from benchmarks.peers.asking.server import Server

LOOK_SECONDS = 25  # what both products advise for one look
_LIMIT = aiohttp.ClientTimeout(total=LOOK_SECONDS + 35)


class Refused(Exception):
    """The product's own answer, where something else was expected."""


class House(ABC):
    """`token` is the agent's own; the session of the person is not the agent's."""

    agent_module: str

    def __init__(self, place: Place) -> None:
        self.place = place
        self.server = self.build_server()
        self.token = ""
        self.agent: aiohttp.ClientSession
        self.person: aiohttp.ClientSession

    @abstractmethod
    def build_server(self) -> Server: ...

    @abstractmethod
    async def sign_in(self) -> None:
        """Makes the agent's token and both sessions."""

    @abstractmethod
    async def ask(self, key: str, *, mail: bool = False) -> str:
        """Its id, as soon as it is stored; the same under the same key. Without mail it waits on the product's page."""

    @abstractmethod
    async def wait(self, ask_id: str) -> str | None:
        """One look; None when no person has answered meanwhile."""

    @abstractmethod
    async def answer(self, ask_id: str, value: str) -> bool:
        """False when it ended before."""

    @abstractmethod
    def agent_python(self) -> str: ...

    async def waited(self, ask_id: str) -> str:
        while (value := await self.wait(ask_id)) is None:
            pass
        return value

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        await self.server.start()
        try:
            await self.sign_in()
            async with self.agent, self.person:
                yield
        finally:
            await self.server.stop()

    def session(self, **headers: str) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=5)
        cookies = aiohttp.CookieJar(unsafe=True)  # also those of an address without a name
        return aiohttp.ClientSession(
            self.place.url, headers=headers, timeout=_LIMIT, connector=connector, cookie_jar=cookies
        )


async def called(
    session: aiohttp.ClientSession, verb: str, path: str, body: object = None, *, besides: tuple[int, ...] = ()
) -> tuple[int, Any]:
    async with session.request(verb, path, json=body) as response:
        if response.status >= 400 and response.status not in besides:
            raise Refused(f"{verb} {path}: {response.status} {(await response.text())[:500]}")
        return response.status, await response.json(content_type=None)


def question(key: str) -> str:
    """With a word in it by which its mails are counted."""
    return f"{text_of(key)} Ship it?"
