"""The agent's own client gave up, invented an answer, or never showed the question."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from mcp_types import ElicitResult

from postroom.kernel.values.principal import OPERATOR
from postroom.questions import telling
from tests.household.asked_household import press, press_beside
from tests.museum.house import House
from tests.patience import PATIENCE_SECONDS
from tests.questions.askers import LEGACY, MODERN, Askers, structured
from tests.telephone import Telephone

pytestmark = pytest.mark.asyncio(loop_scope="module")
both_protocols = pytest.mark.parametrize("mode", [MODERN, LEGACY])


def clients(house: House) -> Askers:
    return Askers(Telephone(house.household, house.http, house.tokens), {})


async def asked_by_client(house: House, mode: str, question: str, form: Any, seconds: float) -> dict[str, Any]:
    arguments = {"question": question, "options": ["yes", "no"], "wait_seconds": seconds}
    async with (
        clients(house).client("api", OPERATOR, mode, elicitation_callback=form) as client,
        asyncio.timeout(PATIENCE_SECONDS),
    ):
        return structured(await client.call_tool("ask", arguments))


@both_protocols
@pytest.mark.exhibit("nimbalyst-758")
async def test_a_call_that_waits_for_a_person_is_heard_of_all_the_while(
    house: House, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telling, "PROGRESS_SECONDS", 0.05)
    monkeypatch.setattr(telling, "LOOK_SECONDS", 0.02)
    enough = asyncio.Event()

    async def progressed(progress: float, _total: float | None, _words: str | None) -> None:
        if progress > 0.1:
            enough.set()

    question = {"question": f"Still waiting, {mode}?", "wait_seconds": 60, "channels": ["telegram"]}
    async with clients(house).client("api", OPERATOR, mode) as client, asyncio.timeout(PATIENCE_SECONDS):
        call = asyncio.create_task(client.call_tool("ask", question, progress_callback=progressed))
        await enough.wait()
        await house.answer(await newest(house), text="Here I am")
        assert structured(await call)["answer"]["text"] == "Here I am"


async def newest(house: House) -> dict[str, Any]:
    _, listed = await house.rest("GET", "/v1/asks?limit=1")
    found: dict[str, Any] = listed["asks"][0]
    return found


@pytest.mark.exhibit("gsd-pi-1150")
async def test_a_question_lives_as_long_as_was_asked_for_and_not_as_long_as_the_call(house: House) -> None:
    before = datetime.now(UTC)
    asked = await house.ask("Take your time?", wait_seconds=0.1, deadline_seconds=7200)

    assert asked["status"] == "open"
    assert datetime.fromisoformat(asked["expires_at"]) - before >= timedelta(seconds=7199)
    await press(house, await house.shows("Take your time?"), "yes")
    assert (await house.wait(asked))["status"] == "answered"


@pytest.mark.exhibit("mcp-feedback-enhanced-212")
async def test_a_deadline_that_no_person_could_keep_is_refused_by_its_name(house: House) -> None:
    refused = await house.ask("In one second?", deadline_seconds=1)

    assert (refused["status"], refused["retryable"]) == ("error", False)
    assert [one["field"] for one in refused["fields"]] == ["deadline_seconds"]
    _, listed = await house.rest("GET", "/v1/asks?limit=1")
    assert "In one second?" not in [one["asked"]["question"] for one in listed["asks"]]


@pytest.mark.exhibit("claude-code-30320")
async def test_an_answer_a_refusal_an_end_and_a_withdrawal_are_four_different_things_to_a_model(house: House) -> None:
    words = ("Answered?", "Refused?", "Over?", "Taken back?")
    answered, refused, over, back = [await house.ask(f"{one} Which is it?") for one in words]
    await house.answer(answered, value="no")
    await press_beside(house, await house.shows("Refused? Which is it?"), "Rather not")
    await house.overdue(over)
    await house.call("health", "cancel_ask", {"ask_id": back["ask_id"]})

    told = [await house.wait(one) for one in (answered, refused, over, back)]

    assert [one["status"] for one in told] == ["answered", "declined", "expired", "cancelled"]
    assert [bool(one["answer"]) for one in told] == [True, False, False, False]
    assert len({one["next"] for one in told}) == 4


@both_protocols
@pytest.mark.exhibit("mongodb-mcp-server-1366")
async def test_a_form_comes_to_the_client_on_the_call_that_asks(house: House, mode: str) -> None:
    async def fills_in(_context: Any, _params: Any) -> ElicitResult:
        return ElicitResult(action="accept", content={"answer": "yes"})

    told = await asked_by_client(house, mode, f"By form, {mode}?", fills_in, 20)

    assert (told["answer"]["value"], told["answered_by"]["channel"]) == ("yes", "client")


@pytest.mark.exhibit("claude-code-30552")
@pytest.mark.parametrize(("mode", "way"), [(MODERN, "decline"), (LEGACY, "cancel"), (MODERN, "accept")])
async def test_a_window_that_was_closed_is_no_answer_and_the_phone_may_still_give_one(
    house: House, mode: str, way: Any
) -> None:
    seen: list[str] = []

    async def closes(_context: Any, params: Any) -> ElicitResult:
        seen.append(params.message)
        return ElicitResult(action=way, content={} if way == "accept" else None)

    question = f"Closed by {way}, {mode}?"
    told = await asked_by_client(house, mode, question, closes, 0.2)
    assert (told["status"], told["answer"], len(seen)) == ("open", None, 1)

    await press(house, await house.shows(question), "no")
    later = await clients(house).tool("wait", {"ask_id": told["ask_id"], "wait_seconds": 20}, OPERATOR, "api")
    assert later["answer"]["value"] == "no"
