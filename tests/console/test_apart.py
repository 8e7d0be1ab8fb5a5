"""The console in one process and the messenger in another: it reads, hears and acts all the same."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.console.http import Caller
from tests.household.processes import environment, part
from tests.patience import PATIENCE_SECONDS
from tests.services import warm_process

pytestmark = pytest.mark.timeout(240)


@pytest.fixture(params=["sqlite", "postgres"])
def variables(home: Path, request: pytest.FixtureRequest) -> dict[str, str]:
    quick = {"POSTROOM_RETRY__BASE_SECONDS": "0.01", "POSTROOM_DELIVERY__TELEGRAM_CHAT_INTERVAL_SECONDS": "0"}
    if request.param == "sqlite":
        return environment(home, **quick)
    return environment(home, POSTROOM_DATABASE_URL=request.getfixturevalue("postgres_url"), **quick)


def postroom(variables: Mapping[str, str], *arguments: str) -> str:
    return warm_process.run(variables, *arguments).stdout


async def notify(variables: Mapping[str, str], text: str) -> dict[str, Any]:
    told = await asyncio.to_thread(postroom, variables, "notify", text, "--as", "health", "--json")
    answer: dict[str, Any] = json.loads(told)
    return answer


async def hear(caller: Caller, cookies: Mapping[str, str], topic: str, ready: asyncio.Event) -> None:
    """Until the stream says that this topic has changed."""
    worn = {"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())}
    async with (
        asyncio.timeout(PATIENCE_SECONDS),
        caller.http.get(f"{caller.base}/console/events", headers=worn) as heard,
    ):
        assert heard.headers["Content-Type"].startswith("text/event-stream")
        async for line in heard.content:
            if line == b"event: listening\n":
                ready.set()
            if line == f"event: {topic}\n".encode():
                return
    raise AssertionError("the stream ended without a word")


async def test_a_console_apart_hears_of_deliveries_and_replays_dead_letters(variables: dict[str, str]) -> None:
    sandbox = f"http://127.0.0.1:{variables['POSTROOM_PORTS__SANDBOX']}/sandbox"
    with ExitStack() as household:
        household.enter_context(part(variables, "sandbox", "messenger", "switchboard", "health"))
        household.enter_context(part(variables, "api"))
        async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http:
            caller = Caller(f"http://127.0.0.1:{variables['POSTROOM_PORTS__API']}", http)
            link = json.loads(await asyncio.to_thread(postroom, variables, "login", "--json"))["url"]
            cookies = await caller.sign_in(link)
            async with http.post(f"{sandbox}/faults", json={"channel": "telegram", "times": 3, "status": 503}) as fault:
                assert fault.status == 200
            ready = asyncio.Event()
            hearing = asyncio.create_task(hear(caller, cookies, "deliveries", ready))
            async with asyncio.timeout(PATIENCE_SECONDS):
                await ready.wait()

            answer = await notify(variables, "Given up at first")
            await hearing

            delivery_id = answer["delivery"]["delivery_id"]
            story = (await caller.get(f"/console/deliveries/{delivery_id}", cookies)).text
            assert "It was given up" in story and "not available" not in story
            letter_id = story.partition("/console/dead-letters/")[2].partition('"')[0]
            token = await caller.form_token(cookies)
            done = await caller.post(f"/console/dead-letters/{letter_id}/replay", {"form_token": token}, cookies)
            assert done.status == 303 and done.cookies["postroom_notice"].startswith("good.")
            assert await arrives(http, sandbox, "Given up at first")


async def arrives(http: aiohttp.ClientSession, sandbox: str, text: str) -> bool:
    """Another process sends it when it gets to it: look again, but not for ever."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            async with http.get(f"{sandbox}/telegram/messages?limit=500") as response:
                if any(message["text"] == text for message in (await response.json())["messages"]):
                    return True
            await asyncio.sleep(0.05)


async def test_while_the_messenger_is_away_pages_say_so_and_nothing_is_done(home: Path) -> None:
    variables = environment(home)
    with part(variables, "api"):
        async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http:
            caller = Caller(f"http://127.0.0.1:{variables['POSTROOM_PORTS__API']}", http)
            link = json.loads(await asyncio.to_thread(postroom, variables, "login", "--json"))["url"]
            cookies = await caller.sign_in(link)
            letter_id = await asyncio.to_thread(_dead_letter, home / "postroom.db")

            health = (await caller.get("/console/health", cookies)).text
            token = await caller.form_token(cookies)
            done = await caller.post(f"/console/dead-letters/{letter_id}/replay", {"form_token": token}, cookies)

    assert "The messenger did not answer" in health
    assert done.status == 303 and done.cookies["postroom_notice"].startswith("bad.Nothing%20was%20done")


def _dead_letter(path: Path) -> str:
    """Left behind by a household of yesterday."""
    from tests.support.delivery_rows import new_id, request_row

    row, letter_id = request_row(status="dead_lettered"), new_id()
    with sqlite3.connect(path) as connection:
        names = ", ".join(row)
        connection.execute(
            f"INSERT INTO delivery_requests ({names}) VALUES ({', '.join('?' * len(row))})", list(row.values())
        )
        connection.execute(
            "INSERT INTO delivery_dead_letter (id, delivery_request_id, quarantine_reason, total_attempts, "
            "replay_count, created_at) VALUES (?, ?, 'retries_exhausted', 3, 0, ?)",
            (letter_id, row["id"], row["created_at"]),
        )
    return letter_id
