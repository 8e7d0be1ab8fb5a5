"""`postroom` alone says what runs, what waits and what to do next."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.agents.coding.test_quick import HEAVY, imported
from tests.cli.command import postroom, postroom_beside
from tests.docs.commands import parse_postroom
from tests.household.asked_household import phone
from tests.household.living import QUICK, Living, living
from tests.services.ports import free_port

from postroom.kernel.values.principal import OWNER, Principal, Role
from postroom.overview.standing import SeenHousehold, document, lines

APPROVING = {"approvals": {"enabled": True, "ask_owner": False}}
NOTHING = {"questions": 0, "approvals": 0, "unread": 0, "held": 0, "dead_letters": 0}
ASKED: dict[str, Any] = {"question": "Deploy?", "options": [{"value": "yes"}, {"value": "no"}], "to": "owner"}


async def told() -> dict[str, Any]:
    done = await postroom_beside("--json")
    assert (done.code, done.error) == (0, "")
    answer: dict[str, Any] = json.loads(done.out)
    return answer


async def ask(household: Living) -> None:
    url = household.household.addresses["api"] + "/v1/asks"
    headers = {"Authorization": f"Bearer {household.token('health')}"}
    async with household.http.post(url, headers=headers, json=ASKED) as response:
        assert response.status == 201, await response.text()


@pytest.mark.requirement("side:words-alone")
def test_without_a_household_it_says_how_to_start_one(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTROOM_PORTS__API", str(free_port()))

    done = postroom()

    assert (done.code, done.error) == (0, "")
    assert done.out.startswith("No household runs here: nothing answers at its address.")
    assert str(home) in done.out and "postroom up" in done.out and "postroom connect claude" in done.out
    assert json.loads(postroom("--json").out)["running"] is False


@pytest.mark.requirement("side:words-alone")
async def test_it_says_what_waits_as_the_api_counts_it_and_imports_nothing_heavy(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = free_port()
    monkeypatch.setenv("POSTROOM_PORTS__API", str(api))
    async with living(home, QUICK, APPROVING, {"ports": {"api": api}}) as household:
        before = await told()
        quiet = (await postroom_beside()).out
        await ask(household)
        await phone(household, ASKED["question"])  # until then it may log of the card where the command writes
        waits, shown = await told(), (await postroom_beside()).out
        packages = await asyncio.to_thread(imported)

        program = household.tokens.create(Principal(Role.PROGRAM, "ci", person=OWNER))
        person = household.tokens.create(Principal(Role.PERSON, OWNER))
        monkeypatch.setenv("POSTROOM_URL", household.household.addresses["api"])
        monkeypatch.setenv("POSTROOM_TOKEN", program)
        of_an_agent = await told()
        monkeypatch.setenv("POSTROOM_TOKEN", person)
        of_the_owner = await told()
        monkeypatch.setenv("POSTROOM_TOKEN", "pr_nothing_of_the_kind")
        unknown = await told()

    assert (before["running"], before["sandbox"], before["waiting"]) == (True, True, NOTHING)
    assert "Nothing waits for you." in quiet and "as a sandbox: nothing leaves this machine" in quiet
    assert waits["waiting"] == {**NOTHING, "questions": 1}
    assert waits["next"] == ["postroom asks --mine --status open"]
    assert "1 question waits for your answer" in shown and str(home) in shown
    assert packages & HEAVY == set()
    assert of_an_agent["running"] and "is an agent's" in of_an_agent["problem"] and of_an_agent["waiting"] is None
    assert of_the_owner["waiting"] == waits["waiting"] and of_the_owner["home"] is None
    assert unknown["running"] and "does not know POSTROOM_TOKEN" in unknown["problem"]


@pytest.mark.parametrize("as_json", [True, False])
async def test_another_household_at_the_address_is_not_taken_for_this_one(
    as_json: bool, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = free_port()
    monkeypatch.setenv("POSTROOM_PORTS__API", str(api))
    ports = {"ports": {"api": api, "sandbox": free_port()}}
    async with living(tmp_path / "another", QUICK, ports, only=["api", "messenger"]):
        done = await postroom_beside(*(["--json"] if as_json else []))

    assert done.code == 0 and "so it is another home's" in done.out


async def test_what_listens_and_is_no_household_is_said_so(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def answered(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n[]")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answered, "127.0.0.1", 0)
    async with server:
        monkeypatch.setenv("POSTROOM_PORTS__API", str(server.sockets[0].getsockname()[1]))
        done = await postroom_beside()

    assert "No household runs here: what answers there is no household." in done.out


def test_options_of_a_command_go_after_it(home: Path) -> None:
    done = postroom("--json", "asks")

    assert done.code == 2 and "go after the command: postroom asks" in done.error


SEEN = [
    SeenHousehold(url="http://h", home=None, problem="nothing answers"),
    SeenHousehold(url="http://h", home=Path("/h"), problem="nothing answers"),
    SeenHousehold(url="http://h", home=Path("/h"), running=True, problem="it answered 500"),
    SeenHousehold(
        url="http://h",
        home=Path("/h"),
        running=True,
        told={
            "version": "1",
            "sandbox": False,
            "started_at": "2026-01-05T09:00:00Z",
            "waiting": dict.fromkeys(NOTHING, 2),
            "channels_failing": [{"name": "telegram", "reason": "the token is refused"}],
        },
    ),
    SeenHousehold(url="http://h", home=None, running=True, told={"waiting": dict.fromkeys(NOTHING)}),
]


@pytest.mark.parametrize("seen", SEEN, ids=["gone", "here", "wrong", "busy", "unknown"])
def test_every_command_it_names_exists(seen: SeenHousehold) -> None:
    named = [*document(seen)["next"], *re.findall(r"`(postroom[^`]*)`", "\n".join(lines(seen)))]

    assert named
    for command in named:
        parse_postroom([word.strip('"') for word in command.split()[1:]])


def test_channels_that_do_not_work_come_first() -> None:
    shown = list(lines(SEEN[3]))

    assert re.fullmatch(r"Postroom 1 runs here, started \d+ days ago, live\.", shown[0])
    assert "telegram does not work: the token is refused." in shown
    assert any("2 dead letters" in line for line in shown) and any("postroom channels" in line for line in shown)


def test_what_cannot_be_counted_is_never_nothing() -> None:
    assert any("could not be counted" in line for line in lines(SEEN[4]))
