"""`notify_status`: what became of a message, for the butler that sent it and for no other."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
import pytest_asyncio
from tests.household.living import LIFTED, QUICK, Living, living

pytestmark = pytest.mark.asyncio(loop_scope="module")
ASKING = {"approvals": {"enabled": True, "ask_owner": False}}
OWNER, STRANGER = "1000", "4242"


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def home_life(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Living]:
    async with living(tmp_path_factory.mktemp("home"), LIFTED, QUICK, ASKING) as one:
        yield one


async def asked(home_life: Living, told: Mapping[str, Any], *, butler: str = "health") -> dict[str, Any]:
    return await home_life.call(butler, "notify_status", {"delivery_id": told["delivery"]["delivery_id"]})


@pytest.mark.parametrize("butler", ["health", "general"])
async def test_what_was_delivered_is_ok_in_the_words_of_notify(home_life: Living, butler: str) -> None:
    told = await home_life.notify(butler=butler, recipient=OWNER)

    answer = await asked(home_life, told, butler=butler)

    assert {name: answer[name] for name in told if name != "delivery"} == {
        name: value for name, value in told.items() if name != "delivery"
    }
    assert told["delivery"].items() <= answer["delivery"].items()
    assert (answer["delivery"]["attempts"], answer["delivery"]["possible_duplicate"]) == (1, False)
    assert (answer["delivery"]["last_error"], answer["delivery"]["approval"]) == (None, None)


async def test_what_still_waits_says_for_what_and_what_went_wrong(home_life: Living) -> None:
    await home_life.fault(channel="email", times=1, status=451)
    told = await home_life.notify(channel="email", recipient="owner@sandbox.example", wait_seconds=0)
    await home_life.settled()

    answer = await asked(home_life, told)

    assert (told["status"], answer["status"], answer["delivery"]["attempts"]) == ("accepted", "ok", 2)

    await home_life.fault(channel="telegram", times=1, status=400)
    failed = await asked(home_life, await home_life.notify(recipient=OWNER))

    assert (failed["status"], failed["error_class"]) == ("error", "validation_error")
    assert failed["delivery"]["last_error"] == {"class": "validation_error", "message": failed["error_message"]}


async def test_a_message_that_may_have_come_twice_says_so(home_life: Living) -> None:
    await home_life.fault(channel="telegram", times=1, mode="accept_then_cut")

    answer = await asked(home_life, await home_life.notify(recipient=OWNER))

    assert (answer["status"], answer["delivery"]["possible_duplicate"]) == ("ok", True)


async def test_the_sender_of_a_rejected_message_learns_the_reason(home_life: Living) -> None:
    told = await home_life.notify(recipient=STRANGER)
    waiting = await asked(home_life, told)
    decision = {"action_id": told["action_id"], "reason": "Not before noon"}
    await home_life.call("messenger", "reject_action", decision, caller="operator")

    answer = await asked(home_life, told)

    assert (waiting["status"], waiting["action_id"]) == ("pending_approval", told["action_id"])
    assert (waiting["delivery"]["approval"]["status"], waiting["delivery"]["approval"]["reason"]) == ("pending", None)
    assert (answer["status"], answer["retryable"]) == ("error", False)
    assert answer["error_message"] == "a person rejected this message: Not before noon"
    assert (answer["delivery"]["approval"]["status"], answer["delivery"]["approval"]["reason"]) == (
        "rejected",
        "Not before noon",
    )


async def test_an_approved_message_says_that_it_was_approved(home_life: Living) -> None:
    told = await home_life.notify(recipient=STRANGER, message="May I?")
    await home_life.call("messenger", "approve_action", {"action_id": told["action_id"]}, caller="operator")
    await home_life.settled()

    answer = await asked(home_life, told)

    assert (answer["status"], answer["delivery"]["approval"]["status"]) == ("ok", "approved")


async def test_a_dead_letter_that_was_replayed_answers_with_the_replay(home_life: Living) -> None:
    await home_life.fault(channel="telegram", times=3, status=503)
    told = await home_life.notify(recipient=OWNER)
    given_up = await asked(home_life, told)
    [letter] = home_life.rows("delivery_dead_letter")
    again = {"dead_letter_id": letter["id"]}
    await home_life.call("messenger", "messenger_dead_letter_replay", again, caller="operator")
    await home_life.settled()

    answer = await asked(home_life, told)

    assert (given_up["status"], given_up["delivery"]["status"]) == ("error", "dead_lettered")
    assert (answer["status"], answer["delivery"]["status"]) == ("ok", "delivered")


@pytest.mark.requirement("house:notify-status")
async def test_a_foreign_and_an_unknown_delivery_are_the_same_not_found(home_life: Living) -> None:
    told = await home_life.notify(recipient=OWNER)
    unknown = {"delivery": {"delivery_id": "0190a1b2-0000-7000-8000-000000000000"}}

    answers = [await asked(home_life, one, butler="general") for one in (told, unknown)]

    for answer, one in zip(answers, (told, unknown), strict=True):
        assert answer["status"] == "error"
        assert answer["error_message"] == f"Delivery {one['delivery']['delivery_id']} not found"
        assert (answer["error_class"], answer["retryable"]) == ("validation_error", False)
        assert "delivery" not in answer


@pytest.mark.parametrize("wrong", ["", "12", 5, None, ["a"], "x" * 100_000])
async def test_what_is_no_delivery_id_is_a_wrong_argument(home_life: Living, wrong: object) -> None:
    answer = await home_life.call("health", "notify_status", {"delivery_id": wrong})

    assert answer["status"] == "error"
    assert answer["error"] == answer["error_message"] == "Invalid delivery_id format: it is a UUID"


async def test_what_no_session_and_no_butler_is_called_is_refused_by_its_argument_and_not_repeated(
    home_life: Living,
) -> None:
    strange = "\u202esnoisses"
    calls: list[tuple[str, str, dict[str, Any]]] = [
        ("health", "sessions_get", {"session_id": strange}),
        ("health", "sessions_stop", {"session_id": strange}),
        ("switchboard", "butler_quarantine", {"name": strange, "reason": "it misbehaved"}),
        ("switchboard", "butler_release", {"name": strange}),
    ]

    for server, tool, arguments in calls:
        answer = await home_life.call(server, tool, arguments, caller="operator")

        assert (answer["status"], answer["error_class"], answer["retryable"]) == ("error", "validation_error", False)
        assert [one["field"] for one in answer["error"]["fields"]] == [next(iter(arguments))], tool
        assert strange not in str(answer), tool
