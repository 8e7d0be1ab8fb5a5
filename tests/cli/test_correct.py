"""`postroom revise` and `postroom recall`, and what `postroom why` says of both sides afterwards."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.app.living import QUICK, Living, living
from tests.cli.command import Done, postroom, postroom_beside
from tests.services.ports import free_port


def ports() -> dict[str, dict[str, int]]:
    return {"ports": {"messenger": free_port()}}


async def run(household: Living, *arguments: str) -> Done:
    """The command reads where the messenger is from its settings, as always."""
    file = household.settings.home / "postroom.toml"
    file.write_text(f"[ports]\nmessenger = {household.settings.ports.messenger}\n")
    return await postroom_beside(*arguments)


@pytest.mark.requirement("content:corrections-are-seen")
async def test_a_message_is_revised_and_recalled_and_both_sides_say_so(home: Path) -> None:
    async with living(home, QUICK, ports()) as household:
        delivery_id = (await household.notify(message="The train leaves at 8"))["delivery"]["delivery_id"]

        revised = await run(household, "revise", delivery_id, "The train leaves at 9")
        [edit] = re.findall(r"Delivery ([0-9a-f-]{36})\.", revised.out)
        texts = await household.texts()
        recalled = await run(household, "recall", delivery_id, "--reason", "wrong day")
        again = await run(household, "revise", delivery_id, "The train leaves at 10")
        original, correction = [(await run(household, "why", one)).out for one in (delivery_id, edit)]
        trace = (await run(household, "trace", delivery_id, "--json")).out
        [message] = await household.received()

    assert revised.code == 0 and "The message was edited where it stands. Delivery " in revised.out
    assert texts == ["The train leaves at 9"]
    assert recalled.code == 0 and "The message was deleted where it stood. Delivery " in recalled.out
    assert message["is_deleted"]
    assert again.code == 1 and "recalled before" in again.error
    assert "operator revised it by an edit" in original and edit in original
    assert "operator recalled it by deleting it" in original
    assert f"It revises delivery {delivery_id}, as operator asked." in correction
    [shown] = json.loads(trace)["deliveries"]
    assert [one["act"] for one in shown["corrections"]] == ["revise", "recall"]
    assert "wrong day" not in message["text"]


@pytest.mark.requirement("content:corrections-are-seen")
async def test_what_was_withdrawn_says_who_did_it(home: Path) -> None:
    async with living(home, QUICK, ports(), {"approvals": {"enabled": True, "ask_owner": False}}) as household:
        delivery_id = (await household.notify(recipient="4242"))["delivery"]["delivery_id"]

        parked = await run(household, "revise", delivery_id, "Dinner at nine?")
        done = await run(household, "recall", delivery_id)
        why = (await run(household, "why", delivery_id)).out
        status = await household.call("health", "notify_status", {"delivery_id": delivery_id})
        figures = await household.call("messenger", "messenger_delivery_stats", {})

    assert (parked.code, parked.out) == (0, f"A person must approve the new text first. Delivery {delivery_id}.\n")
    assert (done.code, done.out) == (0, f"It was withdrawn before it was sent. Delivery {delivery_id}.\n")
    assert why.startswith("It was not sent: operator withdrew it")
    assert (status["status"], status["error_message"]) == ("error", "withdrawn by operator")
    assert (figures["total_deliveries"], figures["failed_count"], figures["unfinished_count"]) == (0, 0, 0)


@pytest.mark.parametrize("identifier", ["00000000-0000-7000-8000-000000000000", "01a1e54c"])
async def test_an_id_that_names_nothing_is_refused_in_one_sentence(home: Path, identifier: str) -> None:
    async with living(home, QUICK, ports()) as household:
        done = await run(household, "recall", identifier)

    assert done.code == 1
    assert f"'{identifier}' is the whole id of no message and no question of yours." in done.error


@pytest.mark.requirement("content:corrections-are-seen")
async def test_a_question_is_changed_and_taken_back_by_its_id(home: Path) -> None:
    both = {"ports": {"messenger": free_port(), "api": free_port()}}
    async with living(home, QUICK, both) as household:
        (home / "postroom.toml").write_text(
            f"[ports]\nmessenger = {both['ports']['messenger']}\napi = {both['ports']['api']}\n"
        )
        asked = await household.call("health", "ask", {"question": "Tea?", "wait_seconds": 0})

        revised = await postroom_beside("revise", asked["ask_id"], "Coffee?")
        wrong = await postroom_beside("revise", asked["ask_id"], "Coffee?", "--subject", "Drinks")
        recalled = await postroom_beside("recall", asked["ask_id"], "--reason", "all gone")
        late = await postroom_beside("revise", asked["ask_id"], "Milk?")
        unknown = await postroom_beside("recall", "01a1e54c-0000-7000-8000-000000000000")
        after = await household.call("health", "wait", {"ask_id": asked["ask_id"], "wait_seconds": 0})

    assert revised.code == 0 and "The question was changed" in revised.out, revised
    assert wrong.code == 1 and "--subject: a question has none." in wrong.error
    assert recalled.code == 0 and "The question was taken back" in recalled.out
    assert late.code == 1 and "cancelled" in late.error
    assert unknown.code == 1 and "Not corrected" in unknown.error
    assert after["status"] == "cancelled"
    assert json.loads(household.rows("questions")[0]["wording"])["question"] == "Coffee?"


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("notify", "Hello", "--wait", "98765432101"), "'--wait': must be at most 600"),
        (("revise", "0123", "Hello", "--wait", "98765432101"), "'--wait': must be at most 600"),
        (("recall", "0123", "--wait", "98765432101"), "'--wait': must be at most 600"),
        (("people", "edit", "owner", "--rank", "99"), "'--rank': must be at most 50"),
        (("people", "history", "owner", "--limit", "0"), "'--limit': must be at least 1"),
        (("attention", "away", "--for", "98765432101"), "more than a year"),
    ],
)
def test_a_number_beyond_all_reason_is_refused_in_a_sentence_of_ours(
    home: Path, command: tuple[str, ...], words: str
) -> None:
    done = postroom(*command)
    assert done.code in (1, 2) and words in done.error and "Traceback" not in done.error
