"""A household starts and says how."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, Any

import aiohttp
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from postroom.household.store import shipped
from postroom.kernel.guard.tokens import TokenFile
from postroom.settings.roster import SwitchboardPlace
from tests.household.living import Living, started
from tests.household.living import settings_for as settings_of
from tests.household.processes import command, environment, part, received, texts, wait_for
from tests.patience import PATIENCE_SECONDS
from tests.services.ports import connection_from, free_port
from tests.services.warm_process import WarmProcess, run

# `postroom up` as a real process: first message, orderly stop, next start, and what it says when it cannot start.
STOP_SECONDS = 10.0


@pytest.fixture(params=["sqlite", "postgres"])
def variables(home: Path, request: pytest.FixtureRequest) -> dict[str, str]:
    """The settings of a household with an empty home, on either database."""
    if request.param == "sqlite":
        return environment(home)
    return environment(home, POSTROOM_DATABASE_URL=request.getfixturevalue("new_postgres_url"))


@asynccontextmanager
async def butler(variables: Mapping[str, str], name: str) -> AsyncIterator[Client]:
    """The official client, with that butler's own token."""
    token = json.loads((Path(variables["POSTROOM_HOME"]) / "tokens.json").read_text())["butlers"][name]
    url = f"http://127.0.0.1:{variables[f'POSTROOM_PORTS__{name.upper()}']}/mcp"
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http, terminate_on_close=False)) as client,
    ):
        yield client


async def notify(variables: Mapping[str, str], name: str = "health", **arguments: Any) -> dict[str, Any]:
    async with butler(variables, name) as client:
        await client.list_tools()  # or else the client asks for them after the answer, when we may be gone
        answer = (await client.call_tool("notify", arguments)).structured_content
    assert answer is not None
    return dict(answer)


async def fault(variables: Mapping[str, str], **fault: Any) -> None:
    url = f"http://127.0.0.1:{variables['POSTROOM_PORTS__SANDBOX']}/sandbox/faults"
    async with aiohttp.ClientSession() as session, session.post(url, json=fault) as response:
        response.raise_for_status()


async def arrived(variables: Mapping[str, str], wanted: list[str]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while await texts(variables) != wanted:
            await asyncio.sleep(0.05)


def stop(process: WarmProcess) -> tuple[int, float]:
    """Exit code and seconds."""
    told = time.monotonic()
    process.send_signal(signal.SIGTERM)
    code = process.wait(timeout=60)
    return code, time.monotonic() - told


@pytest.mark.timeout(180)
@pytest.mark.parametrize("channel", ["telegram", "email"])
@pytest.mark.requirement("notify:successful-delivery-response")
async def test_a_first_message_arrives_once_and_its_trace_tells_the_whole_way(
    variables: dict[str, str], channel: str
) -> None:
    with part(variables):
        answer = await notify(variables, channel=channel, message="Hello")
        assert (answer["status"], answer["delivery"]["channel"]) == ("ok", channel)
        [message] = await received(variables, channel)
        assert message["text" if channel == "telegram" else "body"] == "Hello"
        request_id, delivery_id = answer["request_context"]["request_id"], answer["delivery"]["delivery_id"]
        told = json.loads(run(variables, "trace", request_id, "--json").stdout)
        shown = run(variables, "trace", delivery_id).stdout

    assert [hop["source_butler"] for hop in told["hops"]] == ["health"]
    [delivery] = told["deliveries"]
    assert (delivery["id"], delivery["status"]) == (delivery_id, "delivered")
    assert [attempt["outcome"] for attempt in delivery["attempts"]] == ["success"]
    assert [receipt["provider_delivery_id"] for receipt in delivery["receipts"]] == [
        answer["delivery"]["provider_delivery_id"]
    ]
    assert request_id in shown and "attempt 1: success" in shown and "delivered" in shown


@pytest.mark.timeout(180)
def test_a_journal_gets_neither_a_token_nor_a_link(home: Path) -> None:
    variables = environment(home)
    with part(variables) as process:
        said = _until_last_line(process.stdout)

    assert _secrets(home, said) == [] and "login?key=" not in said
    assert said.splitlines()[-2:] == ["  The console   postroom login", '  Try next      postroom notify "Hello"']
    assert "It plays telegram, email." in said and "/sandbox/" in said
    with sqlite3.connect(home / "postroom.db") as connection:
        assert connection.execute("SELECT count(*) FROM console_links").fetchone() == (0,)


@pytest.mark.timeout(180)
def test_a_terminal_ends_with_a_link_and_what_to_try_and_shows_no_token(home: Path) -> None:
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "postroom", "up"]
    with os.fdopen(ours, encoding="utf-8") as screen:
        process = subprocess.Popen(command, env=environment(home), stdout=theirs, stderr=theirs, start_new_session=True)
        os.close(theirs)
        try:
            said = _until_last_line(screen)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=60)

    link, command = said.splitlines()[-2:]
    assert _secrets(home, said) == [] and "/console/login?key=" in link
    assert command.strip() == 'Try next      postroom notify "Hello"'


def _until_last_line(stream: IO[str] | None) -> str:
    """The test's own timeout bounds it."""
    assert stream is not None
    said = []
    while not said or "Try next" not in said[-1]:
        said.append(stream.readline())
        assert said[-1], "".join(said)
    return "".join(said)


def _secrets(home: Path, said: str) -> list[str]:
    return [one.token for one in TokenFile(home / "tokens.json").held() if one.token in said]


@pytest.mark.timeout(180)
async def test_a_second_start_on_the_same_data_continues_where_the_first_stopped(variables: dict[str, str]) -> None:
    variables["POSTROOM_RETRY__BASE_SECONDS"] = "2"
    with part(variables) as first:
        await fault(variables, channel="telegram", times=1, status=503)
        answer = await notify(variables, channel="telegram", message="Later", wait_seconds=0)
        assert answer["status"] == "accepted"
        assert stop(first)[0] == 0
    with part(variables):
        await arrived(variables, ["Later"])
        told = json.loads(run(variables, "trace", answer["delivery"]["delivery_id"], "--json").stdout)

    assert told["deliveries"][0]["possible_duplicate"] in (False, 0)


@pytest.mark.timeout(180)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "terminated"])
def test_a_household_that_a_script_started_in_the_background_stops_all_the_same(
    home: Path, number: signal.Signals
) -> None:
    """A shell starts background jobs with Ctrl-C ignored, and every program inherits that."""
    in_the_background = ["sh", "-c", 'trap "" INT; exec "$@"', "sh"]
    command = [*in_the_background, sys.executable, "-m", "postroom", "up", "--only=switchboard"]
    with subprocess.Popen(command, env=environment(home), stdout=subprocess.PIPE, text=True) as process:
        try:
            wait_for(process, "Postroom is up.")
            process.send_signal(number)
            said, _ = process.communicate(timeout=PATIENCE_SECONDS)
        finally:
            process.kill()

    assert (process.returncode, said.splitlines()[-1]) == (0, "Stopped.")


@pytest.mark.timeout(180)
async def test_a_stop_lets_the_call_that_is_being_made_finish(variables: dict[str, str]) -> None:
    with part(variables) as process:
        await fault(variables, channel="telegram", times=1, delay_seconds=1.5)
        caller = asyncio.create_task(notify(variables, channel="telegram", message="Slow", wait_seconds=20))
        await arrived(variables, ["Slow"])
        code, seconds = await asyncio.to_thread(stop, process)
        answer = await caller

    assert (code, seconds < STOP_SECONDS) == (0, True)
    assert answer["status"] in ("ok", "accepted")
    with part(variables):
        told = json.loads(run(variables, "trace", answer["delivery"]["delivery_id"], "--json").stdout)
        assert await texts(variables) == ["Slow"]
    assert [attempt["outcome"] for attempt in told["deliveries"][0]["attempts"]] == ["success"]


@pytest.mark.timeout(180)
async def test_a_stop_takes_ten_seconds_at_most_whoever_is_waiting(home: Path) -> None:
    """Callers at every butler, and a provider that never answers."""
    variables = environment(home)
    with part(variables) as process:
        await fault(variables, channel="telegram", times=-1, mode="hang")
        callers = [
            asyncio.create_task(
                notify(variables, name, channel="telegram", message=name, recipient=str(1000 + place), wait_seconds=60)
            )
            for place, name in enumerate(("general", "health", "messenger"))
        ]
        await in_progress(variables, 3)
        code, seconds = await asyncio.to_thread(stop, process)
        answers = await asyncio.gather(*callers, return_exceptions=True)

    assert code == 0
    assert seconds < STOP_SECONDS
    assert [isinstance(answer, dict) and answer["status"] for answer in answers] == ["accepted"] * 3


async def in_progress(variables: Mapping[str, str], number: int) -> None:
    """Until that many calls are being made, as the ledger has it."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while await asyncio.to_thread(_sending, variables) < number:
            await asyncio.sleep(0.05)


def _sending(variables: Mapping[str, str]) -> int:
    with sqlite3.connect(Path(variables["POSTROOM_HOME"]) / "postroom.db") as connection:
        return int(connection.execute("select count(*) from delivery_requests where sending").fetchone()[0])


@pytest.mark.timeout(180)
@pytest.mark.parametrize("taken", ["health", "api", "sandbox", "sandbox_smtp", "sandbox_imap"])
def test_a_taken_port_gives_one_clear_sentence(home: Path, taken: str) -> None:
    variables = environment(home)
    name = f"POSTROOM_PORTS__{taken.upper()}"
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", int(variables[name])))
        other.listen()

        done = run(variables, "up")

    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    [sentence] = [line for line in done.stderr.splitlines() if line.startswith("postroom:")]
    assert variables[name] in sentence and name in sentence


@pytest.mark.timeout(180)
def test_a_port_that_an_outgoing_connection_has_for_a_while_is_waited_for_and_said_why(home: Path) -> None:
    variables = environment(home)
    name = "POSTROOM_PORTS__API"
    with connection_from(int(variables[name])) as caller:
        process = WarmProcess(variables, "up")
        try:
            waits = wait_for(process, "port.waits")
            caller.close()
            wait_for(process, "Postroom is up.")
        finally:
            stop(process)
            process.stdout.close()

    assert "a connection of this machine uses the port as its own end" in waits
    assert variables[name] in waits


@pytest.mark.timeout(180)
def test_two_households_on_one_sqlite_file_are_refused(home: Path) -> None:
    first = environment(home)
    with part(first):
        done = run(environment(home), "up")

    assert done.returncode == 1
    assert "Another household is already working" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.timeout(180)
def test_a_database_that_is_not_there_gives_one_clear_sentence(home: Path, free_port: int) -> None:
    url = f"postgresql://postgres@127.0.0.1:{free_port}/butlers"

    done = run(environment(home, POSTROOM_DATABASE_URL=url), "up")

    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "the store is not available" in done.stderr


@pytest.mark.timeout(180)
async def test_a_worker_beside_a_household_sends_what_the_household_only_stored(
    home: Path, new_postgres_url: str
) -> None:
    variables = environment(home, POSTROOM_DATABASE_URL=new_postgres_url)
    with part(variables), command(variables, "worker") as worker:
        answer = await notify(variables, channel="telegram", message="Hello")
        assert answer["status"] == "ok"
        code, seconds = stop(worker)

    assert (code, seconds < STOP_SECONDS) == (0, True)


# A butler whose file says where its switchboard is calls that one and no other.
@asynccontextmanager
async def watched(home: Path, url_of_switchboard: str, port: int) -> AsyncIterator[Living]:
    settings = settings_of(home, {"ports": {"switchboard": port}})
    place = SwitchboardPlace(url=url_of_switchboard)
    roster = [
        one.model_copy(update={"butler": one.butler.model_copy(update={"switchboard": place})})
        if one.name == "health"
        else one
        for one in shipped(settings)
    ]
    async with started(settings, roster=roster) as living, aiohttp.ClientSession() as session:
        yield Living(settings, living, session)


async def notify_over(living: Living, butler: str) -> dict[str, Any]:
    return await living.notify(butler=butler, message=butler)


async def test_it_is_called_there_even_if_another_one_lives_here(home: Path, free_port: int) -> None:
    async with watched(home, f"http://127.0.0.1:{free_port}/mcp", 0) as living:
        lost, fine = await notify_over(living, "health"), await notify_over(living, "general")

    assert (lost["status"], lost["error_class"]) == ("error", "target_unavailable")
    assert fine["status"] == "ok"


async def test_it_is_reached_over_http_when_it_is_this_household_s_own(home: Path) -> None:
    port = free_port()
    async with watched(home, f"http://127.0.0.1:{port}/mcp", port) as living:
        answer = await notify_over(living, "health")

    assert answer["status"] == "ok"
