"""Two workers and a door on PostgreSQL and Redis, restarted in turn while messages keep coming."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

import aiohttp
import asyncpg
import pytest

from postroom.kernel.values.errors import PostroomError
from postroom.settings.reach import HttpPeer
from tests.household.processes import command, environment, part
from tests.household.test_apart import butler

CALLERS = 6
MORE = 25  # accepted between one restart and the next
PACE_SECONDS = 0.05  # callers think between two messages, or the machine would have no time to start processes
MOST = 10_000
SECONDS = 90.0
LIFTED = 10**7
QUICK = {
    "POSTROOM_LIMITS__GLOBAL_PER_MINUTE": str(LIFTED),
    "POSTROOM_LIMITS__RECIPIENT_PER_MINUTE": str(LIFTED),
    "POSTROOM_LIMITS__CHANNELS": json.dumps({"telegram.bot": LIFTED}),
    "POSTROOM_DELIVERY__TELEGRAM_CHAT_INTERVAL_SECONDS": "0",
    "POSTROOM_DELIVERY__SLOTS_PER_CHANNEL": "2",  # so that there is something left for the workers
    "POSTROOM_TELEMETRY__LOG_LEVEL": "ERROR",
}


class Restartable:
    """A process that can be told to stop and started again with the same words; its callers go on meanwhile."""

    def __init__(self, start: Any) -> None:
        self._start = start
        self._running: AbstractContextManager[Any] = start()

    async def up(self) -> None:
        self._process = await asyncio.to_thread(self._running.__enter__)

    async def down(self) -> int:
        await asyncio.to_thread(self._running.__exit__, None, None, None)
        return int(self._process.returncode)

    async def restart(self) -> int:
        code = await self.down()
        self._running = self._start()
        await self.up()
        return code


class Load:
    """Callers who never give up: a call that fails is repeated with its key until it is accepted."""

    def __init__(self, peer: HttpPeer) -> None:
        self._peer = peer
        self._stopping = asyncio.Event()
        self.accepted: dict[str, str] = {}  # message: delivery id
        self.repeated = 0

    async def caller(self, name: int) -> None:
        number = 0
        while not self._stopping.is_set():
            number += 1
            await self._deliver(f"message {name}-{number}", str(2000 + name))
            await asyncio.sleep(PACE_SECONDS)

    async def _deliver(self, message: str, recipient: str) -> None:
        arguments = {"channel": "telegram", "message": message, "recipient": recipient, "idempotency_key": message}
        while True:
            try:
                answer = await self._peer.call("notify", arguments, 30)
            except PostroomError:
                answer = {"status": "error", "retryable": True}
            if answer["status"] in ("ok", "accepted"):
                self.accepted[message] = answer["delivery"]["delivery_id"]
                return
            assert answer["retryable"], answer
            self.repeated += 1
            await asyncio.sleep(0.02)

    async def reach(self, count: int) -> None:
        async with asyncio.timeout(SECONDS):
            while len(self.accepted) < count:
                await asyncio.sleep(0.02)

    def stop(self) -> None:
        self._stopping.set()


async def settled_rows(url: str) -> dict[str, Any]:
    connection = await asyncpg.connect(url)
    asked = "SELECT message_content, id, status, possible_duplicate FROM messenger.delivery_requests"
    try:
        async with asyncio.timeout(SECONDS):
            while True:
                rows = await connection.fetch(asked)
                if not any(row["status"] in ("pending", "in_progress") for row in rows):
                    return {row["message_content"]: row for row in rows}
                await asyncio.sleep(0.05)
    finally:
        await connection.close()


async def all_received(variables: dict[str, str]) -> list[str]:
    url = f"http://127.0.0.1:{variables['POSTROOM_PORTS__SANDBOX']}/sandbox/telegram/messages"
    async with aiohttp.ClientSession() as session, session.get(url, params={"limit": MOST}) as response:
        messages = (await response.json())["messages"]
    assert len(messages) < MOST
    return [message["text"] for message in messages]


@pytest.mark.timeout(300)
async def test_every_process_is_restarted_under_load_and_nothing_is_lost(
    home: Path, postgres_url: str, redis_url: str
) -> None:
    servers = {"POSTROOM_DATABASE_URL": postgres_url, "POSTROOM_REDIS_URL": redis_url}
    variables = environment(home, **QUICK, **servers)
    with ExitStack() as stack:
        stack.enter_context(part(variables, "sandbox"))
        door = Restartable(lambda: part(variables, "switchboard", "messenger", "health"))
        workers = [Restartable(lambda: command(variables, "worker")) for _ in range(2)]
        await door.up()
        for worker in workers:
            await worker.up()
        peer = butler(variables, home, "health")
        load = Load(peer)
        try:
            async with asyncio.TaskGroup() as callers:
                for name in range(CALLERS):
                    callers.create_task(load.caller(name))
                codes = []
                for process in (*workers, door):
                    await load.reach(len(load.accepted) + MORE)
                    codes.append(await process.restart())
                await load.reach(len(load.accepted) + MORE)
                load.stop()
            rows = await settled_rows(postgres_url)
            arrived = Counter(await all_received(variables))
        finally:
            await peer.close()
            for process in (door, *workers):
                await process.down()

    assert codes == [0] * 3
    assert load.accepted.keys() <= rows.keys()
    assert {message: rows[message]["id"] for message in load.accepted} == load.accepted
    assert {row["status"] for row in rows.values()} == {"delivered"}
    assert [message for message in rows if arrived[message] == 0] == []
    unmarked = [one for one, copies in arrived.items() if copies > 1 and not rows[one]["possible_duplicate"]]
    assert unmarked == []
    assert load.repeated > 0, "the door was never away, so nothing was shown"
