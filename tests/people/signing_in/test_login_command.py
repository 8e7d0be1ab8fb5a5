"""`postroom login`, beside a household that runs in another process, on either database."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

import aiohttp
import pytest
from tests.console.http import Caller
from tests.household.processes import environment, part
from tests.services import warm_process

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(params=["sqlite", "postgres"])
def variables(home: Path, request: pytest.FixtureRequest) -> dict[str, str]:
    if request.param == "sqlite":
        return environment(home)
    return environment(home, POSTROOM_DATABASE_URL=request.getfixturevalue("postgres_url"))


def postroom(variables: Mapping[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return warm_process.run(variables, *arguments)


async def visit(variables: Mapping[str, str], link: str, *again: str) -> tuple[str, list[int]]:
    """The first page after the link, and how later looks with the same cookie end."""
    base = f"http://127.0.0.1:{variables['POSTROOM_PORTS__API']}"
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http:
        caller = Caller(base, http)
        cookies = await caller.sign_in(link)
        text = (await caller.get("/console/", cookies)).text
        statuses = []
        for arguments in again:
            ended = await asyncio.to_thread(postroom, variables, *arguments.split())
            assert ended.returncode == 0, ended.stderr
            statuses.append((await caller.get("/console/", cookies)).status)
        return text, statuses


async def test_the_command_signs_people_in_and_out_of_a_running_household(variables: dict[str, str]) -> None:
    with part(variables, "api", "messenger"):
        operator = json.loads(postroom(variables, "login", "--json").stdout)
        assert postroom(variables, "token", "create", "--person", "ann").returncode == 0
        ann = json.loads(postroom(variables, "login", "--as", "ann", "--json").stdout)

        assert (operator["principal"], ann["principal"]) == ("operator", "person:ann")
        assert "Latest deliveries" in (await visit(variables, operator["url"]))[0]
        text, statuses = await visit(variables, ann["url"], "login --end", "login --as ann --end")
        again = json.loads(postroom(variables, "login", "--as", "ann", "--json").stdout)
        _, revoked = await visit(variables, again["url"], "token create --person ann", "token revoke --person ann")
        assert "<strong><bdi>ann" in text and "Latest deliveries" not in text
        assert statuses == revoked == [200, 401]


def test_a_port_the_system_chose_is_not_guessed(home: Path) -> None:
    answer = postroom(environment(home, POSTROOM_PORTS__API="0"), "login")

    assert answer.returncode == 1 and "ports.api is 0" in answer.stderr


def test_a_person_without_a_token_is_refused_and_gets_none(home: Path) -> None:
    variables = environment(home)
    postroom(variables, "token", "create", "--person", "ada")
    before = (home / "tokens.json").read_text()

    typo = postroom(variables, "login", "--as", "adda")
    program = postroom(variables, "login", "--as", "operator")

    assert typo.returncode == 1 and "none with a token, did you mean 'ada'?" in typo.stderr
    assert program.returncode == 2 and "--as names a person" in program.stderr
    assert (home / "tokens.json").read_text() == before
