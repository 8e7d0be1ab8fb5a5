"""The same thing twice: a message repeated because its answer was lost, a press counted for each time it came."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.fakes.accounts import accounts_at
from tests.fakes.server import serve
from tests.household.asked_household import has_address, until
from tests.museum.house import House, open_house

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.exhibit("openclaw-22780")
async def test_a_message_that_slack_took_before_the_line_broke_is_not_posted_again(home: Path) -> None:
    async with serve() as services, open_house(home, accounts_at(services)) as house:
        await has_address(house, "slack", rank=1, address="U0OWNER01")
        await house.fault(channel="slack", times=1, mode="accept_then_cut")

        answer = await house.notify(channel="slack", message="Posted once")

        assert (answer["status"], answer["delivery"].get("possible_duplicate")) == ("ok", None), answer
        assert len(await house.saying("Posted once", "slack")) == 1


@pytest.mark.exhibit("openclaw-83710")
async def test_an_agent_that_heard_nothing_repeats_its_call_and_has_the_receipt_of_the_first(house: House) -> None:
    first = await house.notify(message="Said once", idempotency_key="said-once")
    again = await house.notify(message="Said once", idempotency_key="said-once")

    assert first["delivery"]["provider_delivery_id"] == again["delivery"]["provider_delivery_id"] is not None
    assert len(await house.saying("Said once")) == 1


@pytest.mark.exhibit("telegram-bot-api-482")
async def test_where_a_provider_can_neither_be_asked_nor_compare_the_second_copy_says_what_it_is(house: House) -> None:
    await house.fault(channel="telegram", times=1, mode="accept_then_cut")

    answer = await house.notify(message="Perhaps twice")

    assert answer["delivery"]["possible_duplicate"] is True
    texts = [one["text"] for one in await house.saying("Perhaps twice")]
    assert len(texts) == 2 and "repeated" not in texts[0] and "possibly repeated" in texts[1]


@pytest.mark.exhibit("telegram-bot-api-699")
async def test_one_press_that_comes_as_several_updates_is_one_answer(house: House) -> None:
    asked = await house.ask("Pay the bill?", allow_text=False)
    card = await house.shows("Pay the bill?")

    heard = [await house.press_as_seen(card, "yes") for _ in range(3)]
    heard.append(await house.press_as_seen(card, "no"))

    told = await house.wait(asked)
    assert (told["answer"]["value"], len(heard)) == ("yes", 4)
    answers = (await house.call("api", "answers", {}, caller="health"))["answers"]
    assert [one["answer"]["value"] for one in answers if one["ask_id"] == asked["ask_id"]] == ["yes"]


@pytest.mark.exhibit("openclaw-33403")
async def test_what_a_provider_refuses_for_good_is_tried_once_and_never_again(house: House) -> None:
    await house.fault(channel="telegram", times=1, status=400)

    refused = await house.notify(message="Refused for good")
    await house.notify(message="The next one")
    await house.settled()

    assert (refused["status"], refused["retryable"]) == ("error", False)
    assert await house.saying("Refused for good") == []
    tried = await house.call(
        "messenger", "messenger_delivery_attempts", {"delivery_id": refused["delivery"]["delivery_id"]}
    )
    assert len(tried["attempts"]) == 1


@pytest.mark.exhibit("openclaw-23777")
async def test_a_restart_sends_nothing_again_that_was_sent_or_was_refused(home: Path) -> None:
    async with open_house(home) as before:
        await before.notify(message="Sent before")
        await before.fault(channel="telegram", times=1, status=400)
        await before.notify(message="Refused before")
    async with open_house(home) as after:
        await after.notify(message="Sent after")
        await after.settled()
        texts = await after.texts()

    assert sorted(texts) == ["Sent after", "Sent before"]


@pytest.mark.exhibit("novu-2569")
async def test_what_arrives_in_the_same_moment_is_collected_once(house: House) -> None:
    quiet = [{"from": "00:00", "until": "12:00"}, {"from": "12:00", "until": "00:00"}]
    policy = {"zone": "UTC", "quiet_hours": quiet}
    assert (await house.rest("PUT", "/v1/people/owner/attention", policy))[0] == 200
    calls = [house.notify(message=f"Event number {n}") for n in range(6)]
    assert {one["status"] for one in await asyncio.gather(*calls)} == {"deferred"}

    assert (await house.rest("DELETE", "/v1/people/owner/attention"))[0] == 200

    async def told() -> str | None:
        text = "\n".join(one["text"] for one in await house.saying("Event number"))
        return text if all(f"Event number {n}" in text for n in range(6)) else None

    text = await until(told)
    await house.settled()
    assert [text.count(f"Event number {n}") for n in range(6)] == [1] * 6
