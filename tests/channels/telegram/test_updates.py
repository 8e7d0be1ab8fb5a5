"""Telegram's updates become what people wrote; who wrote it is the person, never the chat."""

from __future__ import annotations

from typing import Any

import pytest

from postroom.channels.telegram.updates import inbound_event, is_in_group, listened
from postroom.conversations.inbound import replies_in
from postroom.message.inbound import Flag, InboundMessage, InboundReply, Listened, Press


def replies(update: dict[str, Any]) -> list[InboundReply]:
    event = inbound_event("telegram", update)
    return replies_in(event) if isinstance(event, InboundMessage) else []


ADA = {"id": 5, "is_bot": False, "first_name": "Ada"}


def written(**more: Any) -> dict[str, Any]:
    return {"message": {"text": "hi", "from": ADA, "chat": {"id": 5}, "reply_to_message": {"message_id": 3}, **more}}


@pytest.mark.parametrize(
    ("update", "addresses"),
    [
        ({}, []),
        ({"message": {"text": "hi", "from": ADA, "chat": {"id": 5}}}, []),
        ({"message": {"from": ADA, "chat": {"id": 5}, "reply_to_message": {"message_id": 3}}}, []),
        ({"message": "nonsense"}, []),
        (written(chat={"id": 5}), ["5"]),
        (written(chat={"id": -5, "username": "Chan"}), ["-5", "@chan"]),
    ],
)
def test_only_answers_to_messages_are_replies(update: dict[str, Any], addresses: list[str]) -> None:
    assert [(one.address, one.provider_id) for one in replies(update)] == [(one, "3") for one in addresses]


@pytest.mark.parametrize(
    "how",
    [
        pytest.param({"from": None}, id="nobody"),
        pytest.param({"from": {"id": "5", "is_bot": False}}, id="no number"),
        pytest.param({"from": {**ADA, "is_bot": True}}, id="a bot"),
        pytest.param({"from": {"id": 5}}, id="perhaps a bot"),
        pytest.param({"forward_origin": {"type": "user"}}, id="forwarded"),
        pytest.param({"forward_date": 1}, id="forwarded, in older words"),
        pytest.param({"is_automatic_forward": True}, id="forwarded from a channel"),
        pytest.param({"sender_chat": {"id": -5}}, id="an anonymous admin or a channel"),
        pytest.param({"via_bot": {"id": 7, "is_bot": True}}, id="through another bot"),
        pytest.param({"sender_business_bot": {"id": 7, "is_bot": True}}, id="a bot in somebody's name"),
    ],
)
def test_what_no_person_wrote_there_is_no_reply(how: dict[str, Any]) -> None:
    assert replies(written(**how)) == []


def private(**more: Any) -> dict[str, Any]:
    return {"message_id": 9, "chat": {"id": 77, "type": "private"}, "from": {**ADA, "id": 77}, "text": "hi", **more}


def test_a_message_has_its_place_its_writer_and_its_words() -> None:
    update = {"update_id": 5, "message": private(chat={"id": 77, "type": "private", "username": "Ada"})}

    assert inbound_event("telegram", update) == InboundMessage(
        channel="telegram", number=5, message_id="9", places=("77", "@ada"), sender="77", text="hi", alone=True
    )


@pytest.mark.parametrize(
    "odd",
    [
        private(chat={"id": -5, "type": "group"}),
        private(chat={"id": -5, "type": "supergroup"}),
        private(chat={"id": 77}),
        private(chat={"id": "77", "type": "private"}),
        private(chat="nonsense"),
        private(**{"from": {"id": 1, "is_bot": True}}),
        private(**{"from": "nonsense"}),
        private(message_id=None),
    ],
    ids=str,
)
def test_groups_bots_and_nonsense_are_not_a_person_alone_with_the_bot(odd: dict[str, Any]) -> None:
    message = inbound_event("telegram", {"update_id": 5, "message": odd})

    assert not (isinstance(message, InboundMessage) and message.alone)


def test_forwarded_words_come_from_a_person_alone_with_the_bot_and_are_not_their_own() -> None:
    message = inbound_event("telegram", {"message": private(forward_date=1)})

    assert isinstance(message, InboundMessage)
    assert (message.alone, message.author, message.number) == (True, None, 0)


def test_what_is_no_message_moves_the_position_and_says_nothing() -> None:
    assert listened(
        "telegram", [{"update_id": 5, "callback_query": {}}, {"update_id": 8, "message": "odd"}]
    ) == Listened(events=[], position=9)
    assert listened("telegram", [{"edited_message": {}}]) == Listened(events=[], position=None)


ANNA = {"id": 2000, "is_bot": False, "first_name": "Anna"}
CHAT = {"id": 2000, "type": "private", "username": "AnnaK"}


def from_anna(**more: Any) -> dict[str, Any]:
    return {"update_id": 1, "message": {"message_id": 7, "date": 1, "from": ANNA, "chat": CHAT, "text": "yes", **more}}


def press(**more: Any) -> dict[str, Any]:
    query = {"id": "99", "from": ANNA, "data": "token", "message": {"message_id": 7, "date": 0, "chat": CHAT}, **more}
    return {"update_id": 2, "callback_query": query}


def test_a_press_names_who_pressed_and_where() -> None:
    assert inbound_event("telegram", press()) == Press(
        channel="telegram",
        event_id="press:99",
        callback_id="99",
        places=("2000", "@annak"),
        sender="2000",
        token="token",
        message_id="7",
    )


def test_words_name_who_wrote_when_and_what_they_answer() -> None:
    assert inbound_event("telegram", from_anna(reply_to_message={"message_id": 5})) == InboundMessage(
        channel="telegram",
        number=1,
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
    event = inbound_event("telegram", from_anna(**more))
    assert isinstance(event, InboundMessage) and flag in event.flags


def test_a_bot_that_presses_is_no_one() -> None:
    event = inbound_event("telegram", press(**{"from": {"id": 5, "is_bot": True}}))
    assert isinstance(event, Press) and (event.sender, event.flags) == (None, frozenset({Flag.BOT}))


@pytest.mark.parametrize(
    "update",
    [
        {},
        {"message": "text"},
        {"message": {"text": "no chat"}},
        {"callback_query": {"id": 99, "data": "x"}},
        {"callback_query": {"id": "99"}},
        {"my_chat_member": {}},
        {"edited_message": from_anna()["message"]},
    ],
)
def test_nonsense_is_nothing(update: dict[str, Any]) -> None:
    assert inbound_event("telegram", update) is None


@pytest.mark.requirement("talk:groups")
@pytest.mark.parametrize(
    ("text", "addressed", "words"),
    [
        ("@Our_Bot what is on?", True, "what is on?"),
        ("@our_bot, /general hi", True, "/general hi"),
        ("/general@our_bot hi", True, "/general@our_bot hi"),
        ("ask @our_bot", True, "ask @our_bot"),
        ("@our_bot2 hi", False, "@our_bot2 hi"),
        ("hi", False, "hi"),
    ],
)
def test_in_a_group_the_bot_is_called_by_its_name(text: str, addressed: bool, words: str) -> None:
    update = {"update_id": 1, **written(text=text, chat={"id": -5, "type": "group"})}

    assert is_in_group(update)
    [event] = listened("telegram", [update], "our_bot").events
    assert isinstance(event, InboundMessage)
    assert (event.addressed, event.text, event.alone) == (addressed, words, False)
