"""A person was asked again what was asked already, or was left with a card that asks what is long decided."""

from __future__ import annotations

import pytest

from tests.household.asked_household import labels, press, until
from tests.museum.house import House

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def without_buttons(house: House, words: str) -> dict[str, object]:
    """The card that says this, once nothing under it can be pressed any more."""

    async def look() -> bool:
        return not labels(await house.shows(words))

    await until(look)
    return await house.shows(words)


@pytest.mark.exhibit("mcp-feedback-enhanced-125")
async def test_an_agent_that_calls_again_and_again_without_an_answer_asks_once(house: House) -> None:
    first = await house.ask("Shall I go on?")
    calls = [await house.ask("Shall I go on?", wait_seconds=0.1) for _ in range(3)]

    assert {one["ask_id"] for one in calls} == {first["ask_id"]} and all(one["joined"] for one in calls)
    assert "do not ask again" in first["next"] and "wait" in first["next"]
    await house.shows("Shall I go on?")
    await house.settled()
    assert len(await house.saying("Shall I go on?")) == 1


@pytest.mark.exhibit("zeroclaw-6565")
async def test_after_the_press_the_same_message_says_what_was_decided_and_offers_nothing(house: House) -> None:
    await house.ask("Run the migration?", kind="approve", options=None)
    card = await house.shows("Run the migration?")
    assert "Approve" in labels(card)

    await press(house, card, "Approve")

    closed = await without_buttons(house, "Run the migration?")
    assert closed["message_id"] == card["message_id"]
    assert "✅ Approve: answered by" in str(closed["text"])


@pytest.mark.exhibit("clawd-on-desk-446")
async def test_what_was_answered_elsewhere_is_no_longer_asked_on_the_phone(house: House) -> None:
    asked = await house.ask("Merge the branch?")
    card = await house.shows("Merge the branch?")

    assert (await house.answer(asked, value="no"))[0] == 200

    closed = await without_buttons(house, "Merge the branch?")
    assert "✅ no: answered by" in str(closed["text"])
    assert await house.press_as_seen(card, "yes")
    assert (await house.wait(asked, 0))["answer"]["value"] == "no"
