"""A reply by mail reaches whatever the mail was: an intent's question, or a plain notice."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.household.asked_household import until
from tests.household.living import LIFTED, QUICK, Living, living
from tests.household.test_mail_answers import letter, reply
from tests.household.test_mail_that_comes_back import call

EVE = "eve@sandbox.example"
QUOTED = "\n\nOn Mon, 16 Nov 2026 at 09:00, <postroom@sandbox.example> wrote:\n> quoted words\n"


@pytest.fixture
async def house(home: Path) -> AsyncIterator[Living]:
    async with living(home, LIFTED, QUICK) as one:
        yield one


async def eve(house: Living) -> str:
    known = {"name": "Eve", "trusted": True, "addresses": [{"channel": "email", "address": EVE}]}
    return str((await call(house, "POST", "/v1/people", known))["person"]["agent_address"])


@pytest.mark.requirement("mail:answers-intents")
async def test_a_reply_to_an_intents_question_completes_it(house: Living) -> None:
    asked = {"question": "Will you come?", "requested_by": "agent://household/owner"}
    body = {
        "intent_type": "intent.ask.v1",
        "to_agent": await eve(house),
        "payload": {**asked, "requested_at": "2026-01-01T00:00:00Z"},
    }
    intent_id = (await call(house, "POST", "/v1/intents", body))["intent_id"]
    await reply(house, await letter(house, "Will you come?"), f"Yes, gladly{QUOTED}", **{"from": EVE})

    async def completed() -> dict[str, Any] | None:
        found = await call(house, "GET", f"/v1/intents/{intent_id}")
        return found if "COMPLETED" in json.dumps(found) else None

    assert "Yes, gladly" in json.dumps(await until(completed))


@pytest.mark.requirement("mail:original-kept")
async def test_a_reply_to_a_plain_notice_is_kept_with_it(house: Living) -> None:
    await eve(house)
    told = await house.notify(channel="email", recipient=EVE, message="Dinner is ready", wait_seconds=20)
    await reply(house, await letter(house, "Dinner is ready"), f"On my way{QUOTED}", **{"from": EVE})
    delivery_id = told["delivery"]["delivery_id"]

    async def kept() -> list[dict[str, Any]] | None:
        found = (await call(house, "GET", f"/v1/deliveries/{delivery_id}/trace"))["trace"]
        replies: list[dict[str, Any]] = found["deliveries"][0]["replies"]
        return replies or None

    [one] = await until(kept)
    assert one["sender"] == EVE and one["original"].startswith("On my way") and "> quoted words" in one["original"]
