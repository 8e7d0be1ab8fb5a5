"""The event stream: what arrives is shown within a second, once, and to its owner alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from tests.clock import START_US
from tests.inbox.api import Api, running_api
from tests.inbox.examples import BY_EMAIL, a_notification
from tests.patience import PATIENCE_SECONDS

from postroom.inbox.model import DeliveryChannel, Notification
from postroom.inbox.routes import arrivals
from postroom.inbox.store.notes import StoredNotes
from postroom.kernel.database.engine import Database
from postroom.kernel.database.sqlite import SqliteDatabase


@dataclass(frozen=True, slots=True)
class Event:
    name: str
    data: Any
    id: str | None = None


class Stream:
    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    async def next(self, seconds: float = 20) -> Event:
        """The next event; comments and pauses in between are passed over."""
        async with asyncio.timeout(seconds):
            while True:
                block: dict[str, str] = {}
                while line := (await self._response.content.readline()).decode().rstrip("\n"):
                    name, _, value = line.partition(": ")
                    block[name] = value
                if "event" in block:
                    return Event(block["event"], json.loads(block["data"]), block.get("id"))
                assert block, "the stream has ended"

    async def news(self) -> Event:
        """The next notification; the count may come before it, when both are looked up in the same moment."""
        while (event := await self.next()).name != "notification":
            assert event.name == "unread"
        return event


@pytest.fixture
async def api(home: Path) -> AsyncIterator[Api]:
    async with running_api(home) as api:
        yield api


@asynccontextmanager
async def watching(api: Api, user: str = "ada", **headers: str) -> AsyncIterator[Stream]:
    async with api.http.get("/notifications/stream", headers={**api.headers(user), **headers}) as response:
        assert (response.status, response.content_type) == (200, "text/event-stream")
        yield Stream(response)


async def test_a_new_notification_is_shown_with_the_count(api: Api) -> None:
    async with watching(api) as stream:
        assert await stream.next() == Event("unread", {"count": 0})
        one = await api.send("Hello\n\ndata: not an event")
        events = {event.name: event for event in (await stream.next(), await stream.next())}

        shown = events["notification"].data
        assert (shown["id"], shown["message"]) == (one, "Hello\n\ndata: not an event")
        assert events["unread"] == Event("unread", {"count": 1})


@pytest.mark.parametrize("elsewhere", [False, True], ids=["written here", "written by another process"])
async def test_what_arrives_is_seen_within_a_second(api: Api, home: Path, elsewhere: bool) -> None:
    """The best of three, because a machine that is busy with other things is no fault of ours."""
    database = SqliteDatabase(home / "postroom.db")
    notes, clock = StoredNotes(database), api.inbox.clock
    took_us: list[int] = []
    async with watching(api) as stream:
        await stream.next()
        for number in range(3):
            started_us = clock.now_us()
            if elsewhere:
                await keep(notes, a_notification(at_us=started_us, message=str(number)))
            else:
                await api.send(str(number))
            event = await stream.news()
            took_us.append(clock.now_us() - started_us)
            assert event.data["message"] == str(number)
    await database.close()

    assert min(took_us) < 1_000_000


async def test_the_count_follows_what_its_reader_does(api: Api) -> None:
    one = await api.send()
    async with watching(api) as stream:
        assert await stream.next() == Event("unread", {"count": 1})
        await api.call("PATCH", f"/{one}/read")

        assert await stream.next() == Event("unread", {"count": 0})


async def test_nobody_sees_what_is_somebody_elses(api: Api) -> None:
    async with watching(api, "bob") as stream:
        await stream.next()
        await api.send(user="ada")
        own = await api.send(user="bob")

        assert (await stream.news()).data["id"] == own


async def test_a_stream_goes_on_where_the_last_one_stopped(api: Api) -> None:
    await api.send("Before")
    async with watching(api) as stream:
        await stream.next()
        await api.send("Seen")
        last = await stream.news()
    await api.send("Missed")
    await api.send("Missed too")

    assert last.id is not None
    async with watching(api, **{"Last-Event-ID": last.id}) as stream:
        assert [(await stream.news()).data["message"] for _ in range(2)] == ["Missed", "Missed too"]


async def test_somebody_who_wants_e_mail_alone_is_not_rung(api: Api) -> None:
    alone = {"delivery_channel": str(DeliveryChannel.EMAIL), "email": BY_EMAIL.email}
    await api.call("PUT", "/preferences", json=alone)
    async with watching(api) as stream:
        await stream.next()
        await api.send("By e-mail alone")
        await api.call("PUT", "/preferences", json={"delivery_channel": "in_app"})
        await api.send("In the app")

        assert (await stream.news()).data["message"] == "In the app"


async def test_an_open_stream_does_not_hold_up_the_end_of_the_household(home: Path) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        async with running_api(home) as api:
            session = aiohttp.ClientSession(api.url)
            response = await session.get("/notifications/stream", headers=api.headers())
            await Stream(response).next()
        assert await response.content.read() is not None
        await session.close()


class TestInParts:
    """Under a clock of our own."""

    @pytest.fixture
    def notes(self, sqlite_database: Database) -> StoredNotes:
        return StoredNotes(sqlite_database)

    async def test_a_row_that_became_visible_late_is_not_missed(self, notes: StoredNotes) -> None:
        await keep(notes, a_notification(at_us=START_US - 5, message="There before"))
        coming = await arrivals(notes, "ada", None, START_US)
        await keep(notes, a_notification(at_us=START_US + 1_000_000, message="In time"))
        assert [one.message for one in await coming.look()] == ["In time"]
        await keep(notes, a_notification(at_us=START_US - 1_000_000, message="Late"))

        assert [one.message for one in await coming.look()] == ["Late"]
        assert await coming.look() == []

    async def test_a_crowd_arrives_whole_and_in_order(self, notes: StoredNotes) -> None:
        coming = await arrivals(notes, "ada", "0.x", START_US)
        await keep(notes, *(a_notification(at_us=START_US + number) for number in range(250)))
        seen: list[str] = []
        while fresh := await coming.look():
            seen += [one.id for one in fresh]

        assert len(seen) == len(set(seen)) == 250

    @pytest.mark.parametrize("last", ["", "x", ".", "99999999999999999999.x", "-1.x", "１２.x", "\x00"])
    async def test_a_wrong_last_id_starts_from_now(self, notes: StoredNotes, last: str) -> None:
        await keep(notes, a_notification(at_us=START_US - 1))

        assert await (await arrivals(notes, "ada", last, START_US)).look() == []


async def keep(notes: StoredNotes, *new: Notification) -> None:
    for one in new:
        assert await notes.create(one, hourly_cap=10_000) is not None
