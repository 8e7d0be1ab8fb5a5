"""An account of every kind at a server of its service: it sends, hears and answers."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.household.asked_household import SECONDS, ask, until
from tests.household.living import LIFTED, QUICK, Living, living
from tests.household.test_two_accounts import has_address
from tests.fakes.accounts import accounts_at
from tests.fakes.server import serve

OWNERS = {"slack": "U0OWNER01", "discord": "user:100000000000000001", "ntfy": "owners-topic"}


async def seen(house: Living, kind: str, words: str) -> dict[str, Any]:
    async def look() -> dict[str, Any] | None:
        return next((one for one in await house.received(kind) if words in one["text"]), None)

    return await until(look)


async def press(house: Living, kind: str, card: dict[str, Any], button: str) -> None:
    body = {"message_id": card["message_id"], "button": button}
    async with house.http.post(house.played_at + f"{kind}/press", json=body) as response:
        assert response.status == 200, await response.text()


@pytest.mark.parametrize("kind", OWNERS)
async def test_a_message_and_a_card_go_out_and_the_press_comes_back(home: Path, kind: str) -> None:
    async with serve() as services, living(home, LIFTED, QUICK, accounts_at(services)) as house:
        await has_address(house, kind, rank=1, address=OWNERS[kind])
        sent = await house.notify(channel="auto", message="Good morning")
        asked = asyncio.create_task(
            ask(house, channels=[kind], options=["yes", "no"], allow_text=False, wait_seconds=SECONDS)
        )
        await press(house, kind, await seen(house, kind, "Ship it?"), "yes")
        question = (await asyncio.wait_for(asked, SECONDS)).question
        await seen(house, kind, "Good morning")

    assert (sent["status"], sent["delivery"]["channel"]) == ("ok", kind)
    assert question.answer is not None and question.answer.value == "yes"
    assert question.answered_by is not None and question.answered_by.channel == kind


@pytest.mark.requirement("notify:channel-validation", "notify:unsupported-channel")
async def test_a_fresh_household_has_telegram_and_email_and_no_other(home: Path) -> None:
    async with living(home) as house:
        headers = {"Authorization": f"Bearer {house.token('operator')}"}
        async with house.http.get(f"{house.household.addresses['api']}/v1/channels", headers=headers) as response:
            listed = [one["name"] for one in (await response.json())["channels"]]
        answers = [await house.notify(channel=kind, recipient=OWNERS[kind], message="Hello") for kind in OWNERS]
        async with house.http.get(f"{house.played_at}slack/messages") as response:
            faces = response.status

    assert listed == ["telegram", "email"]
    wanted = [f"Unsupported channel '{kind}'. Supported channels: email, telegram." for kind in OWNERS]
    assert [(one["status"], one["error"]) for one in answers] == [("error", said) for said in wanted]
    assert faces == 404
