"""A household as several real processes, also while they are stopped and killed."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractContextManager, ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import asyncpg
import pytest
import pytest_asyncio

from postroom.cli.doctor.checks import Finding, look_at_workers
from postroom.conversations.texts import ENGLISH
from postroom.delivery.workers import LivingWorker, WorkerPulse, living
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.values.errors import PostroomError, TargetUnavailable
from postroom.kernel.values.principal import OPERATOR
from postroom.settings import Settings
from postroom.settings.peer import HttpPeer
from tests.butlers.runtimes.installed import MeetingPlace, install, meeting_place
from tests.clock import FakeClock
from tests.household.asked_household import until
from tests.household.living import settings_for
from tests.household.processes import command, environment, part, parts, texts, wait_for
from tests.household.talking import SECONDS, reply, script
from tests.opened_database import KINDS, opened_database
from tests.services.warm_process import WarmProcess

# The same household as four processes that speak MCP over HTTP.
GROUPS = (["sandbox"], ["switchboard"], ["messenger"], ["general", "health"])


def butler(variables: dict[str, str], home: Path, name: str) -> HttpPeer:
    token = json.loads((home / "tokens.json").read_text())["butlers"][name]
    port = variables[f"POSTROOM_PORTS__{name.upper()}"]
    return HttpPeer(name, f"http://127.0.0.1:{port}/mcp", token)


async def notify_until(peer: HttpPeer, wanted: str) -> dict[str, Any]:
    """Parts find each other by and by; a refusal in the meantime is an honest answer."""
    async with asyncio.timeout(60):
        while True:
            arguments = {"channel": "telegram", "message": "Hello", "idempotency_key": "hello"}
            answer = await peer.call("notify", arguments, 30)
            if answer["status"] == wanted:
                return answer
            assert answer["retryable"], answer


@pytest.mark.timeout(180)
@pytest.mark.requirement("notify:notify-routed-through-switchboard", "notify:messenger-routing-via-switchboard")
async def test_four_processes_deliver_one_message_once(home: Path) -> None:
    variables = environment(home)

    with parts(variables, GROUPS):
        peer = butler(variables, home, "health")
        answer = await notify_until(peer, "ok")
        again = await peer.call("notify", {"channel": "telegram", "message": "Hello", "idempotency_key": "hello"}, 30)
        status = await peer.call("notify_status", {"delivery_id": answer["delivery"]["delivery_id"]}, 30)
        revised = await peer.call(
            "revise", {"delivery_id": answer["delivery"]["delivery_id"], "message": "Hello again"}, 30
        )
        await peer.close()

        assert (status["status"], status["delivery"]["attempts"]) == ("ok", 1)
        assert (revised["status"], revised["how"]) == ("revised", "edit")
        assert again["delivery"]["delivery_id"] == answer["delivery"]["delivery_id"]
        assert await texts(variables) == ["Hello again"]


ENDS = ("revised", "recalled", "too_late")
_OF_ITS_OWN = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT[0-9:.]+Z|[0-9a-f]{32}")


def _alike(answer: Mapping[str, Any]) -> str:
    """Without the ids and the moments that no two households share."""
    return _OF_ITS_OWN.sub("*", json.dumps(answer, sort_keys=True, indent=1))


async def _answers_and_hops(variables: dict[str, str], home: Path) -> list[str]:
    health, general = butler(variables, home, "health"), butler(variables, home, "general")
    token = TokenFile(home / "tokens.json").token_of(OPERATOR) or ""
    messenger = HttpPeer("messenger", f"http://127.0.0.1:{variables['POSTROOM_PORTS__MESSENGER']}/mcp", token)
    try:
        sent = await notify_until(health, "ok")
        its_id = {"delivery_id": sent["delivery"]["delivery_id"]}
        told = [
            sent,
            await health.call("notify", {"channel": "pigeon", "message": "Hello"}, 30),
            await health.call("notify", {"channel": "telegram", "message": "Hello", "recipient": "Stranger"}, 30),
            await health.call("notify_status", its_id, 30),
            await general.call("notify_status", its_id, 30),
            await general.call("recall", its_id, 30),
            await health.call("revise", {**its_id, "message": "Hello again"}, 30),
            await health.call("recall", its_id, 30),
            await health.call("revise", {**its_id, "message": "Too late"}, 30),
        ]
        hops = await messenger.call(
            "messenger_delivery_trace", {"request_id": sent["request_context"]["request_id"]}, 30
        )
        shown = [{name: hop[name] for name in ("part", "source_butler", "status")} for hop in hops["hops"]]
        return [*map(_alike, told), _alike({"hops": shown})]
    finally:
        await asyncio.gather(health.close(), general.close(), messenger.close())


@pytest.mark.timeout(180)
@pytest.mark.requirement("house:inside-as-over-a-wire")
async def test_answers_and_hops_are_the_same_in_one_process_and_in_four(home: Path) -> None:
    told = []
    for name, groups in (("one", [[one for group in GROUPS for one in group]]), ("four", GROUPS)):
        variables = environment(home / name)
        with parts(variables, groups):
            told.append(await _answers_and_hops(variables, home / name))

    assert told[0] == told[1]


@pytest.mark.timeout(180)
async def test_a_messenger_that_is_down_is_an_error_until_it_is_back(home: Path) -> None:
    variables = environment(home)

    with parts(variables, (["sandbox"], ["switchboard"], ["health"])):
        peer = butler(variables, home, "health")
        refused = await peer.call("notify", {"channel": "telegram", "message": "x"}, 30)
        assert (refused["error_class"], refused["retryable"]) == ("target_unavailable", True)
        with part(variables, "messenger"):
            await notify_until(peer, "ok")
            assert await texts(variables) == ["Hello"]
        with pytest.raises(TargetUnavailable):
            await butler(variables, home, "messenger").call("status", {}, 5)
        away = await peer.call("notify", {"channel": "telegram", "message": "y"}, 30)
        await peer.close()

    assert (away["error_class"], away["retryable"]) == ("target_unavailable", True)


# The same conversation when the butler lives in another process than the bot.
TALKING_GROUPS = (["sandbox", "switchboard", "messenger"], ["general"])


@pytest.mark.timeout(180)
@pytest.mark.requirement("talk:answered-in-thread", "talk:stop")
async def test_a_butler_elsewhere_answers_and_is_stopped(home: Path, tmp_path: Path) -> None:
    variables = environment(home, PATH=f"{install(tmp_path / 'bin', ['claude'])}:{os.environ['PATH']}")
    url = f"http://127.0.0.1:{variables['POSTROOM_PORTS__SANDBOX']}/sandbox/telegram"

    async def write(text: str) -> None:
        async with http.post(f"{url}/inbound", json={"chat_id": 1000, "text": text}) as response:
            assert response.status == 200

    async def until(*wanted: str) -> None:
        async with asyncio.timeout(2 * SECONDS):
            while sorted(await texts(variables)) != sorted(wanted):
                await asyncio.sleep(0.05)

    with parts(variables, TALKING_GROUPS):
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


# Two workers and a door on PostgreSQL and Redis, restarted in turn while messages keep coming.
CALLERS = 6
MORE = 25  # accepted between one restart and the next
PACE_SECONDS = 0.05  # callers think between two messages, or the machine would have no time to start processes
RESTART_SECONDS = 90.0
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
        async with asyncio.timeout(RESTART_SECONDS):
            while len(self.accepted) < count:
                await asyncio.sleep(0.02)

    def stop(self) -> None:
        self._stopping.set()


async def settled_rows(url: str) -> dict[str, Any]:
    connection = await asyncpg.connect(url)
    asked = "SELECT message_content, id, status, possible_duplicate FROM messenger.delivery_requests"
    try:
        async with asyncio.timeout(RESTART_SECONDS):
            while True:
                rows = await connection.fetch(asked)
                if not any(row["status"] in ("pending", "in_progress") for row in rows):
                    return {row["message_content"]: row for row in rows}
                await asyncio.sleep(0.05)
    finally:
        await connection.close()


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
            arrived = Counter(await texts(variables))
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


# Several processes may send for one household: doctor names those that live.
async def test_doctor_names_a_worker_while_it_lives(home: Path, postgres_url: str) -> None:
    variables = environment(home, POSTROOM_DATABASE_URL=postgres_url)
    settings = settings_for(home, {"database_url": postgres_url})
    with part(variables, "sandbox", "switchboard", "messenger"):
        with command(variables, "worker") as worker:
            two = await _told(settings, "2 running: postroom up on ")
            pid = worker.pid
        one = await _told(settings, "1 running: postroom up on ")
    none = await _told(settings, "none is running")

    assert two.ok and f"({pid})" in two.detail.partition(", postroom worker on ")[2]
    assert "postroom worker" not in one.detail
    assert none.ok


async def _told(settings: Settings, words: str) -> Finding:
    """A worker is written down a moment after it says that it runs."""

    async def look() -> Finding | None:
        [found] = await look_at_workers(settings)
        return found if found.detail.startswith(words) else None

    return await until(look)


async def test_a_worker_prints_what_it_is(home: Path, postgres_url: str) -> None:
    variables = environment(home, POSTROOM_DATABASE_URL=postgres_url)
    with part(variables, "sandbox", "switchboard", "messenger"), command(variables, "worker") as worker:
        assert worker.stdout.readline() == "\n"
        assert "This is a delivery worker: it sends what the household has stored" in worker.stdout.readline()


@pytest.mark.parametrize("kind", KINDS)
async def test_one_that_died_is_not_counted_after_half_a_minute(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest, clock: FakeClock
) -> None:
    async with opened_database(kind, tmp_path, request) as database:
        names = ("barn (1)", "house (2)")
        first, second = (
            WorkerPulse(
                database=database,
                clock=clock,
                worker=LivingWorker(name=name, alone=True, since_us=clock.now_us(), seen_us=0),
            )
            for name in names
        )
        await first.look()
        await second.look()
        await clock.advance(31)
        await second.look()

        found = await database.read(partial(living, now_us=clock.now_us()))

    assert [one.name for one in found] == ["house (2)"]


# Killed or stopped in the middle of an answer, a household answers once: never lost, never twice.
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
        return await texts(self.variables)

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
async def killed(home: Path, tmp_path: Path) -> AsyncIterator[Killed]:
    one = Killed(home, tmp_path)
    await one.start()
    try:
        yield one
    finally:
        one.kill()


@pytest.mark.requirement("talk:restart")
async def test_killed_before_the_answer_it_is_given_once_after_the_restart(killed: Killed, place: MeetingPlace) -> None:
    await killed.write("/general " + script({"meet": place.port, "as": "model"}, reply("At noon.")))
    await place.came("model")

    killed.kill()
    place.waiting.clear()
    await killed.start()
    await place.came("model")
    place.let_go("model")

    await killed.until("answered")
    assert await killed.said() == ["At noon."]


@pytest.mark.requirement("talk:restart")
async def test_killed_after_its_first_words_they_are_not_said_again_but_that_it_was_interrupted(
    killed: Killed, place: MeetingPlace
) -> None:
    words = f"It is {time.time()}."
    await killed.write("/general " + script(reply(words), {"meet": place.port, "as": "model"}, reply("Once more.")))
    await place.came("model")

    killed.kill()
    place.waiting.clear()
    await killed.start()

    await killed.until("failed")
    assert await killed.said() == [words, ENGLISH.unfinished.format(butler="general")]
    assert not place.waiting


@pytest.mark.requirement("talk:restart")
async def test_what_a_model_answers_while_the_household_stops_is_sent_before_it_ends(
    killed: Killed, place: MeetingPlace
) -> None:
    await killed.write("/general " + script({"meet": place.port, "as": "model"}, reply("At noon.")))
    await place.came("model")

    await killed.stop_begins()
    place.let_go("model")
    await killed.stop_ends()

    assert killed.rows("SELECT message_content, status FROM delivery_requests") == [("At noon.", "delivered")]
    await killed.start()
    await killed.until("answered")
    assert killed.rows("SELECT message_content, status FROM delivery_requests") == [("At noon.", "delivered")]


@pytest.mark.requirement("talk:restart")
async def test_a_session_that_fails_while_the_household_stops_is_begun_again(
    killed: Killed, place: MeetingPlace
) -> None:
    await killed.write("/general " + script({"meet": place.port, "as": "model"}, {"exit": 1}))
    await place.came("model")

    await killed.stop_begins()
    place.let_go("model")
    await killed.stop_ends()

    assert killed.rows("SELECT status, crashes FROM sessions") == [("queued", 0)]
    assert killed.rows("SELECT message_content FROM delivery_requests") == []
    await killed.start()
    await place.came("model")
