"""What two would take who hear what people write goes to the one who stands before the other."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from tests.household.asked_household import ask, parts, phone, shown, until, write
from tests.household.calling import post
from tests.household.talking import Talking, talking

from postroom.conversations.inbound import HEARERS
from postroom.questions.model import PresentationStatus, Question

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.requirement("talk:order")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Talking]:
    folder = tmp_path_factory.mktemp("order")
    async with talking(folder / "home", folder, models=["general"]) as one:
        yield one


async def carded(house: Talking, words: str) -> tuple[str, dict[str, Any]]:
    """A question that any words answer, and its card."""
    view = await ask(house, to=["owner"], question=words, kind="text", options=None)
    await shown(house, view, PresentationStatus.SHOWN)
    return view.question.id, await phone(house, words)


async def became(house: Talking, text: str, **more: Any) -> str:
    """What was decided about the words that the owner writes, as it is kept with them."""
    before = {row["id"] for row in house.messages(1000)}
    await write(house, text, **more)

    async def look() -> str | None:
        new = [row for row in house.messages(1000) if row["id"] not in before and row["status"] != "received"]
        return str(new[0]["reason"]) if new else None

    return await until(look)


async def question_of(house: Talking, ask_id: str) -> Question:
    found = await parts(house).store.get(ask_id)
    assert found is not None
    return found


async def test_each_says_once_what_they_take_and_why_they_stand_there() -> None:
    assert len({one.name for one in HEARERS}) == len(HEARERS)
    assert all(one.takes and one.because for one in HEARERS)


async def test_as_a_reply_to_a_card_a_code_a_place_a_notice_and_a_command_are_no_answer(house: Talking) -> None:
    ask_id, card = await carded(house, "Which train do you take?")
    token = house.token("operator")
    _, started, _ = await post(house, "/v1/people/owner/pair", {"channel": "telegram"}, token=token)
    to_card = {"reply_to_message_id": card["message_id"]}

    assert await became(house, started["code"], **to_card) == "it is about the sender's own address"
    assert await became(house, "/here", **to_card) == "it is about the sender's own address"
    assert await became(house, "/snooze 2h", **to_card) == "it is about a notice"
    assert await became(house, "/status", **to_card) == "it is a command"
    assert (await question_of(house, ask_id)).is_open

    assert await became(house, "The early one", **to_card) == "it answers a question"
    assert not (await question_of(house, ask_id)).is_open


async def test_a_reply_to_a_card_reaches_no_butler_whom_it_names(house: Talking) -> None:
    ask_id, card = await carded(house, "Who shall book it?")

    reason = await became(house, "/general and nobody else", reply_to_message_id=card["message_id"])

    assert reason == "it answers a question"
    answer = (await question_of(house, ask_id)).answer
    assert answer is not None and answer.text == "/general and nobody else"


async def test_a_reply_to_the_letter_of_an_intent_answers_it_and_is_no_strangers_word(house: Talking) -> None:
    token = house.token("operator")
    known = {"name": "Zoe", "trusted": True, "addresses": [{"channel": "telegram", "address": "2060"}]}
    _, made, _ = await post(house, "/v1/people", known, token=token)  # who has not proved a place has no card
    payload = {"requested_by": "agent://household/owner", "requested_at": "2026-01-01T00:00:00Z"}
    body = {
        "intent_type": "intent.ask.v1",
        "to_agent": made["person"]["agent_address"],
        "payload": {"question": "Will you come?", **payload},
    }
    status, said, _ = await post(house, "/v1/intents", body, token=token)
    assert status < 300, said
    [letter] = await house.said(2060)

    await house.write(2060, "Yes, gladly", reply_to_message_id=letter["message_id"])
    [answered] = await house.kept(2060, "handled")
    await house.write(2060, "Anybody there?")
    await house.kept(2060, "handled", "refused")

    assert answered["reason"] == "it answers a message that waits for a reply"


async def test_what_one_writes_too_much_is_not_even_kept(tmp_path: Path) -> None:
    settings = {"conversations": {"messages_per_minute": 2}}
    async with talking(tmp_path / "home", tmp_path, settings, models=[]) as flooded:
        for _ in range(4):
            await flooded.write(2001, "/asks")
        await flooded.said(2001, 3)
        await flooded.write(2002, "/asks")
        await flooded.said(2002)

        assert len(flooded.messages(2001)) == 2
