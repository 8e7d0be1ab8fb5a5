"""The same conversation when the butler lives in another process than the bot."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from pathlib import Path

import aiohttp
import pytest
from tests.household.processes import environment, parts
from tests.household.talking import SECONDS, reply, script
from tests.butlers.runtimes.installed import install, meeting_place

from postroom.conversations.texts import ENGLISH

GROUPS = (["sandbox", "switchboard", "messenger"], ["general"])


@pytest.mark.timeout(180)
@pytest.mark.requirement("talk:answered-in-thread", "talk:stop")
async def test_a_butler_elsewhere_answers_and_is_stopped(home: Path, tmp_path: Path) -> None:
    variables = environment(home, PATH=f"{install(tmp_path / 'bin', ['claude'])}:{os.environ['PATH']}")
    url = f"http://127.0.0.1:{variables['POSTROOM_PORTS__SANDBOX']}/sandbox/telegram"

    async def write(text: str) -> None:
        async with http.post(f"{url}/inbound", json={"chat_id": 1000, "text": text}) as response:
            assert response.status == 200

    async def until(*texts: str) -> None:
        async with asyncio.timeout(2 * SECONDS):
            while True:
                async with http.get(f"{url}/messages") as response:
                    if sorted(one["text"] for one in (await response.json())["messages"]) == sorted(texts):
                        return
                await asyncio.sleep(0.05)

    with parts(variables, GROUPS):
        async with meeting_place() as place, aiohttp.ClientSession() as http:
            await write("/general " + script(reply("From far away.")))
            await until("From far away.")
            await write("/general " + script({"meet": place.port, "as": "model"}, reply("Never.")))
            await place.came("model")
            await write("/stop")
            await place.left("model")
            await until("From far away.", ENGLISH.stopped)

    with sqlite3.connect(home / "postroom.db") as connection:
        rows = [row[0] for row in connection.execute("SELECT status FROM inbound_messages ORDER BY id")]
    assert rows == ["answered", "stopped", "handled"]
