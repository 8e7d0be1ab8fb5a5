"""Killed or stopped in the middle of an answer, a household answers once: never lost, never twice."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from tests.household.processes import environment, wait_for
from tests.household.talking import SECONDS, reply, script
from tests.butlers.runtimes.installed import MeetingPlace, install, meeting_place
from tests.services.warm_process import WarmProcess

from postroom.conversations.texts import ENGLISH

OWNER = 1000


@pytest_asyncio.fixture
async def place() -> AsyncIterator[MeetingPlace]:
    async with meeting_place() as one:
        yield one


class Killed:
    """A household in a process of its own, which dies without a word and is started again."""

    def __init__(self, home: Path, folder: Path) -> None:
        path = f"{install(folder / 'bin', ['claude'])}:{os.environ['PATH']}"
        self.home = home
        self.variables: Mapping[str, str] = environment(home, PATH=path)
        self.url = f"http://127.0.0.1:{self.variables['POSTROOM_PORTS__SANDBOX']}/sandbox/telegram"
        self.process: WarmProcess | None = None

    async def start(self) -> None:
        self.process = WarmProcess(self.variables, "up")
        await asyncio.to_thread(wait_for, self.process, "Postroom is up.")

    def kill(self) -> None:
        assert self.process is not None
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(timeout=SECONDS)
        self.process.stdout.close()

    async def stop_begins(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        await asyncio.to_thread(wait_for, self.process, "Stopping:")

    async def stop_ends(self) -> None:
        assert self.process is not None
        await asyncio.to_thread(wait_for, self.process, "Stopped.")
        assert await asyncio.to_thread(self.process.wait, SECONDS) == 0

    async def write(self, text: str) -> None:
        async with (
            aiohttp.ClientSession() as http,
            http.post(f"{self.url}/inbound", json={"chat_id": OWNER, "text": text}) as response,
        ):
            assert response.status == 200

    async def said(self) -> list[str]:
        async with aiohttp.ClientSession() as http, http.get(f"{self.url}/messages") as response:
            messages: list[dict[str, Any]] = (await response.json())["messages"]
            return [one["text"] for one in messages]

    async def until(self, status: str) -> None:
        async with asyncio.timeout(SECONDS):
            while self._statuses() != [status]:
                await asyncio.sleep(0.05)

    def _statuses(self) -> list[str]:
        return [row[0] for row in self.rows("SELECT status FROM inbound_messages")]

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        with sqlite3.connect(self.home / "postroom.db") as connection:
            return list(connection.execute(statement))


@pytest_asyncio.fixture
async def house(home: Path, tmp_path: Path) -> AsyncIterator[Killed]:
    one = Killed(home, tmp_path)
    await one.start()
    try:
        yield one
    finally:
        one.kill()


@pytest.mark.requirement("talk:restart")
async def test_killed_before_the_answer_it_is_given_once_after_the_restart(house: Killed, place: MeetingPlace) -> None:
    await house.write("/general " + script({"meet": place.port, "as": "model"}, reply("At noon.")))
    await place.came("model")

    house.kill()
    place.waiting.clear()
    await house.start()
    await place.came("model")
    place.let_go("model")

    await house.until("answered")
    assert await house.said() == ["At noon."]


@pytest.mark.requirement("talk:restart")
async def test_killed_after_its_first_words_they_are_not_said_again_but_that_it_was_interrupted(
    house: Killed, place: MeetingPlace
) -> None:
    words = f"It is {time.time()}."
    await house.write("/general " + script(reply(words), {"meet": place.port, "as": "model"}, reply("Once more.")))
    await place.came("model")

    house.kill()
    place.waiting.clear()
    await house.start()

    await house.until("failed")
    assert await house.said() == [words, ENGLISH.unfinished.format(butler="general")]
    assert not place.waiting


@pytest.mark.requirement("talk:restart")
async def test_what_a_model_answers_while_the_household_stops_is_sent_before_it_ends(
    house: Killed, place: MeetingPlace
) -> None:
    await house.write("/general " + script({"meet": place.port, "as": "model"}, reply("At noon.")))
    await place.came("model")

    await house.stop_begins()
    place.let_go("model")
    await house.stop_ends()

    assert house.rows("SELECT message_content, status FROM delivery_requests") == [("At noon.", "delivered")]
    await house.start()
    await house.until("answered")
    assert house.rows("SELECT message_content, status FROM delivery_requests") == [("At noon.", "delivered")]


@pytest.mark.requirement("talk:restart")
async def test_a_session_that_fails_while_the_household_stops_is_begun_again(
    house: Killed, place: MeetingPlace
) -> None:
    await house.write("/general " + script({"meet": place.port, "as": "model"}, {"exit": 1}))
    await place.came("model")

    await house.stop_begins()
    place.let_go("model")
    await house.stop_ends()

    assert house.rows("SELECT status, crashes FROM sessions") == [("queued", 0)]
    assert house.rows("SELECT message_content FROM delivery_requests") == []
    await house.start()
    await place.came("model")
