"""What is told over the Gateway, by the shapes of Discord's documentation."""

from __future__ import annotations

from typing import Any

import pytest

from postroom.domain.assurance import Flag
from postroom.domain.inbound_message import InboundEvent, InboundMessage, Press
from postroom.world.channels.discord.events import inbound_event

BOT = "900"
ADA: dict[str, Any] = {"id": "7", "username": "ada", "discriminator": "0"}


def heard(**told: Any) -> InboundMessage | None:
    given = {"id": "1001", "channel_id": "55", "type": 0, "author": ADA, "content": "Hello", "mentions": []}
    event = inbound_event("discord", "MESSAGE_CREATE", given | told, BOT)
    assert event is None or isinstance(event, InboundMessage)
    return event


def pressed(**told: Any) -> InboundEvent | None:
    given = {
        "id": "2002",
        "application_id": "900",
        "type": 3,
        "token": "unique-interaction-token",
        "channel_id": "55",
        "channel": {"id": "55", "type": 1},
        "context": 1,
        "user": ADA,
        "data": {"custom_id": "q1:yes", "component_type": 2},
        "message": {"id": "1000", "channel_id": "55"},
    }
    return inbound_event("discord", "INTERACTION_CREATE", given | told, BOT)


def test_a_direct_message_is_from_a_person_alone_with_us() -> None:
    event = heard()

    assert event is not None
    assert (event.places, event.sender, event.text) == (("55", "user:7"), "user:7", "Hello")
    assert (event.alone, event.flags, event.replies_to) == (True, frozenset(), None)
    assert (event.number, event.message_id, event.thread_identity) == (1001, "1001", "55:1001")
    assert event.said_at_us == 1_420_070_400_000_000


def test_in_a_server_the_person_is_not_alone_and_our_name_before_their_words_is_left_out() -> None:
    event = heard(guild_id="3", content=f"<@{BOT}> yes, do <@{BOT}>")

    assert event is not None
    assert (event.places, event.sender, event.alone) == (("55",), "user:7", False)
    assert event.text == f"yes, do <@{BOT}>"


def test_a_reply_names_our_message() -> None:
    event = heard(type=19, message_reference={"type": 0, "message_id": "1000", "channel_id": "55"})

    assert event is not None and event.replies_to == "1000"


@pytest.mark.parametrize(
    ("told", "flags"),
    [
        ({"author": {**ADA, "bot": True}}, {Flag.BOT}),
        ({"webhook_id": "88", "author": {"id": "88", "username": "Ada"}}, {Flag.BOT}),
        ({"author": None}, {Flag.BOT}),
        ({"message_reference": {"type": 1, "message_id": "4", "channel_id": "5"}}, {Flag.FORWARDED}),
        ({"message_snapshots": [{"message": {}}]}, {Flag.FORWARDED}),
    ],
)
def test_bots_webhooks_and_forwards_are_marked_and_never_answer(told: dict[str, Any], flags: set[Flag]) -> None:
    event = heard(**told)

    assert event is not None
    assert event.flags == flags and event.author is None
    assert event.replies_to is None


def test_a_webhook_with_a_persons_number_is_not_that_person() -> None:
    event = heard(webhook_id="88", author=ADA)

    assert event is not None and event.sender is None and not event.alone


@pytest.mark.parametrize(
    "told",
    [
        {"author": {"id": BOT, "bot": True}},
        {"type": 7},
        {"type": 6, "message_reference": {"message_id": "1000"}},
        {"guild_id": "3", "content": ""},
        {"id": None},
        {"channel_id": "../x"},
    ],
    ids=["our own", "joined", "pinned", "hidden from us", "no id", "no channel"],
)
def test_what_no_one_said_to_us_is_not_heard(told: dict[str, Any]) -> None:
    assert heard(**told) is None


def test_a_press_says_who_and_where_by_discords_word() -> None:
    event = pressed()

    assert isinstance(event, Press)
    assert (event.sender, event.places, event.token) == ("user:7", ("55", "user:7"), "q1:yes")
    assert (event.event_id, event.callback_id) == ("press:2002", "2002:unique-interaction-token")
    assert "unique-interaction-token" not in repr(event) and "q1:yes" not in repr(event)


def test_a_press_in_a_server_is_by_the_member() -> None:
    event = pressed(user=None, member={"user": {"id": "8"}}, guild_id="3", context=0, channel={"id": "55", "type": 0})

    assert isinstance(event, Press)
    assert (event.sender, event.places) == ("user:8", ("55",))


def test_two_peoples_own_direct_channel_is_not_ours() -> None:
    event = pressed(context=2)

    assert isinstance(event, Press) and event.places == ("55",)


def test_a_press_by_a_bot_is_marked() -> None:
    event = pressed(user={**ADA, "bot": True})

    assert isinstance(event, Press) and event.sender is None and event.flags == {Flag.BOT}


@pytest.mark.parametrize(
    "told",
    [
        {"type": 2},
        {"data": {"custom_id": "q1:yes", "component_type": 3}},
        {"data": None},
        {"token": None},
        {"id": "x"},
        {"data": {"component_type": 2}},
    ],
)
def test_other_interactions_and_nonsense_are_not_presses(told: dict[str, Any]) -> None:
    assert pressed(**told) is None


@pytest.mark.parametrize("told", [None, [], "x", {}])
@pytest.mark.parametrize("name", ["MESSAGE_CREATE", "INTERACTION_CREATE", "GUILD_CREATE", None])
def test_nonsense_says_nothing(name: object, told: object) -> None:
    assert inbound_event("discord", name, told, BOT) is None


@pytest.mark.requirement("talk:groups")
@pytest.mark.parametrize(
    ("content", "addressed"),
    [(f"<@{BOT}> hi", True), (f"hi <@!{BOT}>", True), (f"<@{BOT}1> hi", False), ("hi", False)],
)
def test_in_a_server_it_is_written_to_us_when_it_names_us(content: str, addressed: bool) -> None:
    event = heard(guild_id="3", content=content)

    assert event is not None and event.addressed is addressed
