"""The pager's case: every field of a Case is used."""

from __future__ import annotations

import html
import re
from base64 import b64decode
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import Any

from postroom.testing import FILES, Case, HttpProvider, HttpWords, Place, Proofs, Reply, TakenRequest, raw_reply, reply
from tests.testing.pager import Page, Pager

TOKEN = "canary-pager-token"
PERSON = "4711"


def accepted(number: int) -> Reply:
    return reply(201, {"id": f"page-{number}"})


def refused(words: str, status: int = 400) -> Reply:
    return reply(status, {"error": words})


def has(request: TakenRequest, kept: Sequence[TakenRequest]) -> Reply | None:
    if request.method != "GET":
        return None
    pages = [{"id": f"page-{number}", "key": one.body["key"]} for number, one in enumerate(kept, 1)]
    return reply(200, {"pages": pages})


def visible(part: Page) -> str:
    return html.unescape(part.body["text"])


def mentions(part: Page) -> list[str]:
    return re.findall("<[^>]*", part.body["text"])


def arrived(provider: HttpProvider) -> list[tuple[str, bytes]]:
    return [(file["name"], b64decode(file["data"])) for one in provider.messages for file in one.body["files"]]


class PagerPerson:
    """Events are kept until they are acknowledged by asking for later ones."""

    sender = PERSON

    def __init__(self, server: HttpProvider, channel: type[Pager]) -> None:
        self._server, self._channel = server, channel
        self._events: list[dict[str, Any]] = []
        self._count = 0
        self._away = False
        self.acknowledged = 0
        server.aside = self._answer

    def connect(self) -> Pager:
        return self._channel(self._server.url, TOKEN)

    async def write(self, text: str, *, by_bot: bool = False, forged: bool = False) -> None:
        self._add({"from": PERSON, "text": text, "bot": by_bot, "forwarded": forged})

    async def press(self, token: str) -> None:
        self._add({"from": PERSON, "token": token, "bot": False, "forwarded": False})

    async def show_again(self) -> None:
        """It does so by itself until it is acknowledged."""

    async def leave(self) -> None:
        self._away = True

    def _add(self, event: dict[str, Any]) -> None:
        self._count += 1
        self._events.append({"n": self._count, **event})

    def _answer(self, request: TakenRequest) -> Reply | None:
        if self._away:
            return raw_reply(503, b"later")
        after = int(request.path.partition("after=")[2])
        kept = [one for one in self._events if one["n"] > after]
        self.acknowledged += len(self._events) - len(kept)
        self._events = kept
        return reply(200, {"events": kept})


def people(channel: type[Pager]) -> Callable[[], AbstractAsyncContextManager[PagerPerson]]:
    @asynccontextmanager
    async def person() -> AsyncIterator[PagerPerson]:
        async with HttpProvider() as server:
            yield PagerPerson(server, channel)

    return person


CASE = Case(
    name="pager",
    connect=lambda place: Pager(place.url, TOKEN, files=FILES),
    words=HttpWords(
        accepted=accepted,
        refused=refused,
        credentials=refused("who are you", 401),
        throttled=refused("slow down", 429),
        throttled_float=lambda seconds: reply(429, {"error": "slow down", "retry": seconds}),
        throttled_milliseconds=lambda wait: reply(429, {"error": "slow down", "retry_ms": wait}),
        throttled_otherwise=refused("enhance your calm", 420),
        error_inside=reply(200, {"error": "no such pager"}),
        missing_id=reply(200, {}),
        silence_seconds=0.5,
    ),
    address=PERSON,
    not_an_address="ada@example.org",
    visible=visible,
    counted=lambda part: str(part.body["text"]),
    mentions=mentions,
    secrets=[TOKEN],
    proofs=Proofs(
        dedupes=lambda taken: str(taken.body["key"]),
        reconciles=has,
        edits=lambda taken: str(taken.body["edit"]),
        buttons=lambda taken: [one["token"] for one in taken.body["buttons"]],
        reacts=lambda taken: str(taken.body["emoji"]),
        replies=lambda taken: str(taken.body["answers"]),
        threads=lambda taken: str(taken.body["answers"]),
        files=arrived,
    ),
    person=people(Pager),
)


def case_of(channel: type[Pager]) -> Case:
    """The same case for a pager that is not as it should be."""

    def connect(place: Place) -> Pager:
        return channel(place.url, TOKEN, files=FILES)

    return replace(CASE, connect=connect, person=people(channel))
