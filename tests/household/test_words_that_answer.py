"""What a person writes is an answer only where they say so; everything else reaches a butler, whatever is open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest
import pytest_asyncio

from postroom.questions.model import PresentationStatus, Question
from tests.household.asked_household import HEALTH, ask, parts, shown, until
from tests.household.talking import SECONDS, Talking, accounts_everywhere, reply, script, talking
from tests.fakes.server import serve

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.requirement("ask:own-words")]
PLACES = {"telegram": "1000", "slack": "U7", "discord": "user:7"}
PEOPLE = {"telegram": "owner", "slack": "Eve", "discord": "Eve"}
ALLOW_OR_DENY = [{"value": "allow", "label": "Allow"}, {"value": "deny", "label": "Deny"}]
PERMISSION = {"question": "May it run a command?", "options": ALLOW_OR_DENY, "allow_text": False}
CHOICE = {"question": "May I delete the old backups?", "options": ["yes", "no"]}
TEXT = {"question": "When shall we leave?", "kind": "text", "options": None}
APPROVAL = {"question": "Delete them now?", "kind": "approve", "options": None}
everywhere = pytest.mark.parametrize("channel", PLACES)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Talking]:
    folder = tmp_path_factory.mktemp("words")
    models = ["general"]
    async with (
        serve() as services,
        talking(folder / "home", folder, accounts_everywhere(services), models=models) as one,
    ):
        yield one


class Chat:
    """One person on one channel."""

    def __init__(self, house: Talking, channel: str) -> None:
        self.house, self.channel, self.place = house, channel, PLACES[channel]

    async def asked(self, **question: Any) -> tuple[str, dict[str, Any]]:
        """The question's id and its card."""
        wish = {"to": [PEOPLE[self.channel]], "channels": [self.channel], **question}
        view = await ask(self.house, **wish)
        await shown(self.house, view, PresentationStatus.SHOWN)
        return view.question.id, await self.house.arrived(self.channel, wish["question"])

    async def write(self, text: str, to: dict[str, Any] | None = None) -> None:
        where = {"chat_id": self.place} if self.channel == "telegram" else {"place": self.place}
        answers = {"reply_to_message_id": to["message_id"]} if to else {}
        await self.house.post(f"{self.channel}/inbound", {**where, "text": text, **answers})

    async def press_beside(self, card: dict[str, Any], button: str) -> None:
        """What is not among the answers stands behind the card's small button."""
        await self.press(card, "…")
        await until(partial(self.has, card, button))
        await self.press(card, button)

    async def has(self, card: dict[str, Any], button: str) -> bool:
        found = await self.house.received(self.channel)
        return any(one["message_id"] == card["message_id"] and button in str(one) for one in found)

    async def press(self, card: dict[str, Any], button: str) -> None:
        by = {} if self.channel == "telegram" else {"from_id": self.place.removeprefix("user:")}
        await self.house.post(f"{self.channel}/press", {"message_id": card["message_id"], "button": button, **by})

    async def butler_answers(self, words: str) -> None:
        """A message to the butler, not in reply to anything."""
        await self.write(script(reply(words, channel=self.channel)))
        await self.house.arrived(self.channel, words)

    async def question(self, ask_id: str) -> Question:
        found = await parts(self.house).store.get(ask_id)
        assert found is not None
        return found

    async def answer(self, ask_id: str) -> str | None:
        async def look() -> Question | None:
            question = await self.question(ask_id)
            return None if question.is_open else question

        answer = (await asyncio.wait_for(until(look), SECONDS)).answer
        assert answer is not None
        return answer.text or answer.value


@pytest.mark.parametrize(
    ("channel", "question", "bare"),
    [
        pytest.param("telegram", CHOICE, "yes", id="a choice"),
        pytest.param("telegram", TEXT, "at noon", id="own words"),
        pytest.param("telegram", APPROVAL, "Approve", id="an approval"),
        pytest.param("telegram", PERMISSION, "1", id="a permission"),
        pytest.param("slack", CHOICE, "yes", id="slack"),
        pytest.param("discord", CHOICE, "yes", id="discord"),
    ],
)
async def test_words_to_the_butler_are_no_answer_while_a_question_is_open(
    house: Talking, channel: str, question: dict[str, Any], bare: str
) -> None:
    chat = Chat(house, channel)
    ask_id, _ = await chat.asked(**question | {"question": f"{question['question']} ({bare}, {channel})"})
    await chat.write(bare)
    await chat.butler_answers(f"Dinner at eight, after {bare} on {channel}.")
    assert (await chat.question(ask_id)).is_open
    assert await parts(house).store.attempts(ask_id) == []


@everywhere
async def test_the_exact_word_as_a_reply_approves_and_a_number_does_not(house: Talking, channel: str) -> None:
    chat = Chat(house, channel)
    ask_id, card = await chat.asked(**PERMISSION | {"question": f"May it run a command, on {channel}?"})
    await chat.write("1", card)
    await house.arrived(channel, "Press a button, or reply with exactly “Allow” or “Deny”.")
    await chat.write("allow", card)
    assert await chat.answer(ask_id) == "allow"


@everywhere
async def test_after_other_the_next_message_answers_and_the_one_after_it_reaches_the_butler(
    house: Talking, channel: str
) -> None:
    chat = Chat(house, channel)
    ask_id, card = await chat.asked(question=f"Which tea, on {channel}?", options=["green", "black"])
    other, _ = await chat.asked(question=f"Which cake, on {channel}?", options=["plum", "apple"])
    await chat.press_beside(card, "✏️ Other")
    await house.arrived(channel, f"Your answer to “Which tea, on {channel}?”: write it as your next message here.")
    await chat.write("white, please")
    assert await chat.answer(ask_id) == "white, please"
    await chat.butler_answers(f"After that, on {channel}.")
    assert (await chat.question(other)).is_open


@everywhere
async def test_a_message_between_other_and_the_answer_was_the_next_one(house: Talking, channel: str) -> None:
    chat = Chat(house, channel)
    ask_id, card = await chat.asked(question=f"Which road, on {channel}?", options=["left", "right"])
    await chat.press_beside(card, "✏️ Other")
    box = await house.arrived(channel, f"Your answer to “Which road, on {channel}?”")
    await chat.write("/status")
    await chat.butler_answers(f"The road is long, on {channel}.")
    assert (await chat.question(ask_id)).is_open
    if channel != "slack":  # there a reply goes to the root of the thread, which is the card
        await chat.write("straight on", box)
    else:
        await chat.write("straight on", card)
    assert await chat.answer(ask_id) == "straight on"


async def test_a_mail_that_replies_to_nothing_is_for_the_butler_and_a_reply_to_the_card_answers(house: Talking) -> None:
    mail = {"from": "eve@example.org", "to": "postroom@sandbox.example", "subject": "Today"}
    view = await ask(house, to=["Eve"], channels=["email"], question="By which train?", kind="text", options=None)
    card = await house.arrived("email", "By which train?")
    await house.post("email/inbound", mail | {"body": script(reply("By mail, dinner at eight.", channel="email"))})
    await house.arrived("email", "By mail, dinner at eight.")
    assert (await Chat(house, "telegram").question(view.question.id)).is_open
    await house.post("email/inbound", mail | {"body": "The early one", "in_reply_to": card["message_id"]})
    assert await Chat(house, "telegram").answer(view.question.id) == "The early one"


@everywhere
@pytest.mark.parametrize("replies", [False, True], ids=["the next message", "a reply to the box"])
async def test_words_for_a_question_that_was_changed_after_other_are_no_answer_to_the_new_one(
    house: Talking, channel: str, replies: bool
) -> None:
    if replies and channel == "slack":
        return  # there a reply goes to the root of the thread, which is the card with its new words
    chat, name = Chat(house, channel), f"on {channel}, {'by reply' if replies else 'next'}"
    ask_id, card = await chat.asked(question=f"Which cake, {name}?", options=["plum", "apple"])
    await chat.press_beside(card, "✏️ Other")
    box = await house.arrived(channel, f"Your answer to “Which cake, {name}?”")
    await parts(house).asking.revise(HEALTH, ask_id, {"question": f"May I pay 900, {name}?"})
    await house.arrived(channel, f"May I pay 900, {name}?")
    await chat.write(f"yes, {name}", box if replies else None)
    heard = await until(partial(parts(house).store.attempts, ask_id))
    assert [one.verdict.reason for one in heard] == ["the question has changed; please look at it again"]
    await house.arrived(channel, "The question has changed; please look at it again.")
    assert (await chat.question(ask_id)).is_open
    await chat.write("no, never", card)
    assert await chat.answer(ask_id) == "no, never"
