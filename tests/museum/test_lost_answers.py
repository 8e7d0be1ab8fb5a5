"""A person answered, and the answer went nowhere."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest

from tests.household.asked_household import labels, press, until, write
from tests.museum.house import House, given_up, open_house

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.exhibit("bb-3408")
async def test_an_answer_that_comes_after_the_call_has_ended_waits_for_its_asker(house: House) -> None:
    asked = await house.ask("Keep the backup?")
    assert asked["status"] == "open"

    await press(house, await house.shows("Keep the backup?"), "yes")

    told = await house.wait(asked)
    assert (told["status"], told["answer"]["value"]) == ("answered", "yes")


@pytest.mark.exhibit("bb-1944")
async def test_a_client_that_was_cut_off_asks_the_same_again_and_has_the_answer(house: House) -> None:
    call = asyncio.create_task(house.ask("Which database?", options=["SQLite", "Postgres"], wait_seconds=60))
    card = await house.shows("Which database?")
    await given_up(call)
    await press(house, card, "Postgres")

    again = await house.ask("Which database?", options=["SQLite", "Postgres"], wait_seconds=20)

    assert (again["joined"], again["answer"]["value"]) == (True, "Postgres")
    assert len(await house.saying("Which database?")) == 1


@pytest.mark.exhibit("nimbalyst-776")
async def test_what_is_submitted_too_late_is_refused_in_words_and_never_swallowed(house: House) -> None:
    asked = await house.ask("Is the form still open?")
    card = await house.shows("Is the form still open?")
    await house.call("health", "cancel_ask", {"ask_id": asked["ask_id"]})

    heard = await house.press_as_seen(card, "yes")
    status, refused = await house.answer(asked, value="yes")

    assert heard
    assert (status, refused["error"]["code"]) == (409, "illegal_transition"), refused


@pytest.mark.exhibit("nimbalyst-927")
async def test_an_answer_given_days_before_a_restart_is_there_for_an_agent_that_comes_back(home: Path) -> None:
    async with open_house(home) as before:
        start = (await before.call("api", "answers", {}, caller="health"))["cursor"]
        asked = await before.ask("Plan for the week?")
        await press(before, await before.shows("Plan for the week?"), "no")
        await before.wait(asked)
    async with open_house(home) as after:
        missed = await after.call("api", "answers", {"since": start}, caller="health")

    assert [(one["ask_id"], one["answer"]["value"]) for one in missed["answers"]] == [(asked["ask_id"], "no")]


@pytest.mark.exhibit("telegram-net-485")
async def test_a_press_that_the_provider_threw_away_meanwhile_is_asked_for_again(home: Path) -> None:
    async with open_house(home) as before:
        asked = await before.ask("Press while I am away?")
        card = await before.shows("Press while I am away?")
    with sqlite3.connect(
        home / "postroom.db"
    ) as connection:  # it was away for ten minutes, a press lives for two and a half
        moved = "UPDATE inbound_offsets SET position = position - 600000000 WHERE source = 'telegram:listened'"
        assert connection.execute(moved).rowcount == 1
    async with open_house(home) as after:
        told = await after.shows("I could not hear you from")
        assert told["message_id"] == card["message_id"] and "yes" in labels(told)
        await press(after, told, "yes")
        assert (await after.wait(asked))["answer"]["value"] == "yes"


@pytest.mark.exhibit("grok-build-160")
async def test_a_question_whose_time_is_over_says_so_on_its_card_and_has_no_buttons_left(house: House) -> None:
    asked = await house.ask("Before the deadline?")
    card = await house.shows("Before the deadline?")
    assert (await house.overdue(asked))["status"] == "expired"

    async def without_buttons() -> bool:
        return not labels(await house.shows("Before the deadline?"))

    await until(without_buttons)
    closed = await house.shows("Before the deadline?")
    assert closed["message_id"] == card["message_id"] and closed["text"] != card["text"]


@pytest.mark.exhibit("nimbalyst-773")
async def test_a_question_that_was_taken_back_takes_no_later_message_for_its_answer(house: House) -> None:
    stale = await house.ask("A stale question?", options=None)
    await house.shows("A stale question?")
    await house.call("health", "cancel_ask", {"ask_id": stale["ask_id"]})
    asked = await house.ask("Which colour?", options=None)
    card = await house.shows("Which colour?")
    await house.noted(asked)

    await write(house, "blue", reply_to_message_id=card["message_id"])

    assert (await house.wait(asked))["answer"]["text"] == "blue"
    told = await house.wait(stale, 0)
    assert (told["status"], told["answer"]) == ("cancelled", None)


@pytest.mark.exhibit("claude-code-78175")
async def test_an_empty_answer_is_refused_and_takes_nothing_away_that_was_chosen(house: House) -> None:
    asked = await house.ask("Which days?", options=["Mon", "Tue", "Wed"], multiple=True)
    card = await house.shows("Which days?")
    await press(house, card, "Tue")

    status, refused = await house.answer(asked, text="  ")
    assert status == 422 and refused["error"]["fields"], refused
    assert (await house.wait(asked, 0))["status"] == "open"

    await press(house, card, "Send")
    assert (await house.wait(asked))["answer"]["selected"] == ["Tue"]
