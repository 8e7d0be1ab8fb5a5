from __future__ import annotations

from typing import Any

import pytest
from tests.world.channels.slack.fake_slack import envelope, pressed, said

from postroom.domain.assurance import Flag
from postroom.domain.inbound_message import InboundMessage, Press
from postroom.world.channels.slack.events import PressedIn, inbound_event, pressed_in


def heard(event: dict[str, Any]) -> InboundMessage:
    message = inbound_event("work", envelope("e1", event))
    assert isinstance(message, InboundMessage)
    return message


def test_a_direct_message_is_known_by_its_own_id_and_by_the_person() -> None:
    message = heard(said("Yes &amp; no"))

    assert message == InboundMessage(
        channel="work",
        number=0,
        message_id="1700000001.000200",
        places=("D1", "U1"),
        sender="U1",
        text="Yes & no",
        alone=True,
        said_at_us=1_700_000_001_000_200,
    )
    assert message.event_id == "message:D1:1700000001.000200"


def test_the_same_event_has_the_same_name_however_often_it_comes() -> None:
    again = envelope("e2", said(), retry_attempt=1, retry_reason="timeout")
    mention = said(type="app_mention", channel="C1", channel_type=None)

    assert inbound_event("work", again) == heard(said())
    assert heard(mention).event_id == heard(said(channel="C1", channel_type="channel")).event_id


def test_an_answer_in_a_thread_names_the_message_that_began_it() -> None:
    assert heard(said(thread_ts="1700000000.000100")).replies_to == "1700000000.000100"
    assert heard(said(thread_ts="1700000001.000200")).replies_to is None


def test_in_a_channel_nobody_is_alone_with_us_and_our_name_is_no_part_of_the_answer() -> None:
    message = heard(said("<@UBOT> yes", channel="C1", channel_type="channel"))

    assert (message.places, message.alone, message.sender, message.text) == (("C1",), False, "U1", "yes")


@pytest.mark.parametrize(
    ("more", "flags"),
    [
        ({"bot_id": "B1"}, {Flag.BOT}),
        ({"bot_id": "B1", "subtype": "bot_message", "user": None}, {Flag.BOT, Flag.AUTOMATIC}),
        ({"bot_profile": {"id": "B1"}}, {Flag.BOT}),
        ({"user": "USLACKBOT"}, {Flag.BOT}),
        ({"subtype": "channel_join"}, {Flag.AUTOMATIC}),
        ({"attachments": [{"is_share": True}]}, {Flag.FORWARDED}),
    ],
)
def test_what_a_person_did_not_write_themselves_is_nobodys_answer(more: dict[str, Any], flags: set[Flag]) -> None:
    message = heard(said(**more))

    assert message.flags == flags
    assert message.author is None
    assert not message.alone


@pytest.mark.parametrize("subtype", ["file_share", "thread_broadcast", "me_message"])
def test_some_subtypes_are_a_persons_own_words(subtype: str) -> None:
    assert heard(said(subtype=subtype)).author == "U1"


@pytest.mark.parametrize(
    "frame",
    [
        envelope("e", said(subtype="message_changed", hidden=True)),
        envelope("e", said(subtype="message_deleted")),
        envelope("e", said(type="reaction_added")),
        envelope("e", said(channel="general")),
        envelope("e", said(ts="yesterday")),
        envelope("e", said(channel=None)),
        {"type": "events_api", "payload": {"event": [1]}},
        {"type": "events_api"},
        {"type": "slash_commands", "payload": {"command": "/ask"}},
        {"type": "interactive", "payload": {"type": "view_submission"}},
        {"type": "interactive", "payload": {"type": "block_actions", "actions": [7]}},
        pressed("e", channel=None, container=None),
        pressed("e", value=None),
        {},
    ],
)
def test_everything_else_says_nothing(frame: dict[str, Any]) -> None:
    assert inbound_event("work", frame) is None


@pytest.mark.requirement("house:slack-presses")
def test_a_press_says_who_where_and_what() -> None:
    press = inbound_event("work", pressed("e1"))

    assert press == Press(
        channel="work",
        event_id="press:D1:1700000000.000100:U1:1700000002.000300",
        callback_id="D1:U1:",
        places=("D1", "U1"),
        sender="U1",
        token="q1:yes",
        message_id="1700000000.000100",
    )
    assert "q1:yes" not in repr(press)


def test_a_press_in_a_channel_is_somebodys_in_particular() -> None:
    press = inbound_event("work", pressed("e1", channel={"id": "C1"}, user={"id": "U2"}))

    assert isinstance(press, Press)
    assert (press.places, press.sender) == (("C1",), "U2")


def test_a_press_without_a_person_has_no_sender() -> None:
    press = inbound_event("work", pressed("e1", user={"id": "ada"}))

    assert isinstance(press, Press)
    assert (press.sender, press.places) == (None, ("D1",))
    assert pressed_in(press.callback_id) is None


def test_where_a_press_is_answered_travels_with_it() -> None:
    where = PressedIn(channel="C1", user="U1", thread="1.2")

    assert pressed_in(where.callback_id) == where
    assert pressed_in("nonsense") is None


@pytest.mark.requirement("talk:groups")
def test_in_a_channel_it_is_written_to_us_when_it_names_us() -> None:
    named = heard(said("<@UBOT> yes", channel="C1", channel_type="channel"))
    mention = heard(said(type="app_mention", channel="C1", channel_type=None))
    other = heard(said("<@UOTHER> yes", channel="C1", channel_type="channel"))

    assert (named.addressed, mention.addressed, other.addressed) == (True, True, False)
