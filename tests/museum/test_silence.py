"""It said that all was well, and no one heard anything."""

from __future__ import annotations

import asyncio

import pytest

from tests.household.asked_household import labels, press, until
from tests.museum.house import House

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.exhibit("openclaw-91300")
async def test_delivered_is_said_only_of_what_the_provider_has_given_a_number(house: House) -> None:
    sent = await house.notify(message="Really sent")
    await house.fault(channel="telegram", times=1, status=403)
    blocked = await house.notify(message="Never sent")

    assert sent["delivery"]["provider_delivery_id"] == str((await house.shows("Really sent"))["message_id"])
    assert (blocked["status"], blocked["delivery"]["status"]) == ("error", "failed")
    told = await house.call("health", "notify_status", {"delivery_id": blocked["delivery"]["delivery_id"]})
    assert told["delivery"]["status"] == "failed" and await house.saying("Never sent") == []


@pytest.mark.exhibit("openclaw-21722")
async def test_what_could_not_be_sent_leaves_by_itself_as_soon_as_it_can(house: House) -> None:
    await house.fault(channel="telegram", times=2, status=503)

    answer = await house.notify(message="After the outage")

    assert answer["status"] == "ok", answer
    assert len(await house.saying("After the outage")) == 1


@pytest.mark.exhibit("openclaw-27660")
async def test_one_message_that_has_to_wait_holds_up_none_behind_it(house: House) -> None:
    await house.fault(channel="telegram", times=1, delay_seconds=1)
    slow = asyncio.create_task(house.notify(message="Slow one", recipient="2001"))
    await house.shows("Slow one")

    assert (await house.notify(message="Not held up"))["status"] == "ok"

    assert not slow.done()
    assert (await slow)["status"] == "ok"


@pytest.mark.exhibit("openclaw-138540")
async def test_a_question_reaches_the_phone_of_the_person_though_the_agent_named_no_channel(house: House) -> None:
    asked = await house.ask("Where are you?", channels=None)

    card = await house.shows("Where are you?")
    assert labels(card)[:2] == ["yes", "no"]
    await press(house, card, "yes")
    assert (await house.wait(asked))["answered_by"]["channel"] == "telegram"


@pytest.mark.exhibit("openclaw-123915")
async def test_a_question_that_no_one_can_be_shown_is_said_to_be_so(house: House) -> None:
    assert (await house.rest("POST", "/v1/people", {"name": "Hermit"}))[0] == 201
    told = await house.ask("Are you there?", to="Hermit")

    assert [(one["status"], one["reason"]) for one in told["presentations"]] == [
        ("not_shown", "no address on telegram")
    ]
    assert "No person could be shown this question" in told["next"]


@pytest.mark.exhibit("gsd-pi-533")
async def test_a_question_that_ran_out_of_time_has_no_answer_and_says_that_no_person_acted(house: House) -> None:
    asked = await house.ask("Delete the old release?", kind="approve", options=None)

    told = await house.overdue(asked)

    assert (told["status"], told["answer"], told["answered_by"]) == ("expired", None, None)
    assert "No person answered in time" in told["next"] and "neither a yes nor a no" in told["next"]


@pytest.mark.exhibit("openclaw-126522")
async def test_what_was_given_up_is_listed_tried_again_and_thrown_away_by_tools(house: House) -> None:
    await house.fault(channel="email", times=-1, status=503)
    await house.notify(channel="email", message="Given up")

    async def given_up() -> list[dict[str, str]]:
        found = await house.call("messenger", "messenger_dead_letter_list", {"channel": "email"})
        return list(found["dead_letters"])

    (letter,) = await until(given_up)
    async with house.http.delete(house.household.addresses["sandbox"] + "faults") as cleared:
        assert cleared.status == 200
    which = {"dead_letter_id": letter["dead_letter_id"]}
    await house.call("messenger", "messenger_dead_letter_replay", which, caller="operator")
    await house.shows("Given up", "email")
    gone = await house.call(
        "messenger", "messenger_dead_letter_discard", {**which, "reason": "seen"}, caller="operator"
    )
    assert await given_up() == [], gone


@pytest.mark.exhibit("openclaw-135191")
async def test_what_is_too_old_to_matter_is_not_poured_out_when_the_way_is_free_again(house: House) -> None:
    quiet = [{"from": "00:00", "until": "12:00"}, {"from": "12:00", "until": "00:00"}]
    assert (await house.rest("PUT", "/v1/people/owner/attention", {"zone": "UTC", "quiet_hours": quiet}))[0] == 200
    stale = await house.notify(message="The bus leaves now", expires_in_seconds=1)
    fresh = await house.notify(message="The bus leaves tomorrow")

    async def expired() -> bool:
        return (await house.rest("GET", f"/v1/notices/{stale['notice_id']}"))[1]["notice"]["state"] == "expired"

    await until(expired)
    assert (await house.rest("DELETE", "/v1/people/owner/attention"))[0] == 200

    await house.shows("The bus leaves tomorrow")
    assert fresh["status"] == "deferred" and await house.saying("The bus leaves now") == []
