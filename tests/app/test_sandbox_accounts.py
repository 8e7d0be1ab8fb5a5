"""In the sandbox every kind it plays sends, hears and answers without an account."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from postroom.programs.sandbox.faces.known import FACES
from tests.app.asked_household import SECONDS, ask, until
from tests.app.living import LIFTED, QUICK, Living, living
from tests.app.test_two_accounts import has_address

OWNERS = {"slack": "U0OWNER01", "discord": "user:100000000000000001", "ntfy": "owners-topic"}


async def seen(house: Living, kind: str, words: str) -> dict[str, Any]:
    async def look() -> dict[str, Any] | None:
        return next((one for one in await house.received(kind) if words in one["text"]), None)

    return await until(look)


async def press(house: Living, kind: str, card: dict[str, Any], button: str) -> None:
    body = {"message_id": card["message_id"], "button": button}
    async with house.http.post(house.household.addresses["sandbox"] + f"{kind}/press", json=body) as response:
        assert response.status == 200, await response.text()


@pytest.mark.requirement("chan:sandbox-accounts")
@pytest.mark.parametrize("kind", [kind for kind in OWNERS if kind in FACES])
async def test_a_message_and_a_card_go_out_and_the_press_comes_back(home: Path, kind: str) -> None:
    async with living(home, LIFTED, QUICK) as house:
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
