"""Telegram's updates as presses and words."""

from __future__ import annotations

from typing import Any

import pytest

from postroom.domain.answer_attempt import Flag
from postroom.domain.inbound_event import Press, Words
from postroom.world.channels.telegram_events import telegram_event

ANNA = {"id": 2000, "is_bot": False, "first_name": "Anna"}
CHAT = {"id": 2000, "type": "private", "username": "AnnaK"}


def message(**more: Any) -> dict[str, Any]:
    return {"update_id": 1, "message": {"message_id": 7, "date": 1, "from": ANNA, "chat": CHAT, "text": "yes", **more}}


def press(**more: Any) -> dict[str, Any]:
    query = {"id": "99", "from": ANNA, "data": "token", "message": {"message_id": 7, "date": 0, "chat": CHAT}, **more}
    return {"update_id": 2, "callback_query": query}


def test_a_press_names_who_pressed_and_where() -> None:
    assert telegram_event(press()) == Press(
        channel="telegram",
        event_id="press:99",
        callback_id="99",
        places=("2000", "@annak"),
        sender="2000",
        token="token",
    )


def test_words_name_who_wrote_when_and_what_they_answer() -> None:
    assert telegram_event(message(reply_to_message={"message_id": 5})) == Words(
        channel="telegram",
        event_id="message:2000:7",
        places=("2000", "@annak"),
        sender="2000",
        message_id="7",
        text="yes",
        replies_to="5",
        alone=True,
        said_at_us=1_000_000,
    )


@pytest.mark.parametrize(
    ("more", "flag"),
    [
        ({"forward_origin": {"type": "user"}}, Flag.FORWARDED),
        ({"forward_date": 1}, Flag.FORWARDED),
        ({"via_bot": {"id": 1}}, Flag.AUTOMATIC),
        ({"is_automatic_forward": True}, Flag.AUTOMATIC),
        ({"sender_chat": {"id": -1}}, Flag.ANONYMOUS),
        ({"from": {"id": 5, "is_bot": True}}, Flag.BOT),
    ],
)
def test_what_is_not_a_persons_own_word_is_marked(more: dict[str, Any], flag: Flag) -> None:
    event = telegram_event(message(**more))
    assert isinstance(event, Words) and flag in event.flags


def test_a_bot_that_presses_is_no_one() -> None:
    event = telegram_event(press(**{"from": {"id": 5, "is_bot": True}}))
    assert isinstance(event, Press) and (event.sender, event.flags) == (None, frozenset({Flag.BOT}))


@pytest.mark.parametrize(
    "update",
    [
        {},
        {"message": "text"},
        {"message": {"text": "no chat"}},
        message(text=None),
        message(message_id="7"),
        {"callback_query": {"id": 99, "data": "x"}},
        {"callback_query": {"id": "99"}},
        {"my_chat_member": {}},
        {"edited_message": message()["message"]},
    ],
)
def test_nonsense_is_nothing(update: dict[str, Any]) -> None:
    assert telegram_event(update) is None
