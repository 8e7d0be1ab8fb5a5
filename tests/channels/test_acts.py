"""`postroom channels`: what a person reads of the household's accounts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.command import postroom, postroom_beside
from tests.household.living import QUICK, living
from tests.services.ports import free_port


@pytest.mark.requirement("house:channels-listed")
async def test_each_account_is_a_line_and_json_is_what_the_api_says(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = free_port()
    monkeypatch.setenv("POSTROOM_PORTS__API", str(port))
    async with living(home, QUICK, {"ports": {"api": port}}) as household:
        plain = await postroom_beside("channels")
        told = json.loads((await postroom_beside("channels", "--json")).out)
        headers = {"Authorization": f"Bearer {household.token('operator')}"}
        async with household.http.get(f"http://127.0.0.1:{port}/v1/channels", headers=headers) as response:
            assert told == (await response.json())["channels"]

    assert plain.out.splitlines()[:2] == [
        "telegram  well; chat, plain, markdown, 4096 utf16 a message; "
        "buttons, edits, deletes, reacts, replies, files, inbound",
        "email  well; letter, plain, markdown; replies, threads, files, inbound",
    ]


async def test_a_household_elsewhere_is_asked_with_its_token(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with living(tmp_path / "there", QUICK) as household:
        monkeypatch.setenv("POSTROOM_URL", household.household.addresses["api"])
        monkeypatch.setenv("POSTROOM_TOKEN", household.token("health"))
        butler = await postroom_beside("channels")
        monkeypatch.setenv("POSTROOM_TOKEN", household.token("operator"))
        operator = await postroom_beside("channels")

    assert butler.code == 1 and "403" in butler.error
    assert operator.code == 0 and operator.out.startswith("telegram  well")
    assert list(home.iterdir()) == []


def test_without_a_household_it_asks_whether_it_runs(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = postroom("channels")

    assert done.code == 1 and "is the household running" in done.error
