"""Slack, Discord and ntfy of the sandbox, sorted as the page shows them."""

from __future__ import annotations

from typing import Any

import pytest

from postroom.doors.console.sandbox_services import SERVICES, Chosen, Service, ServiceRoom, service_room
from postroom.programs.sandbox.faces.known import FACES

SLACK, DISCORD, NTFY = SERVICES


def said(number: int, place: str = "D1000", **more: Any) -> dict[str, Any]:
    plain = {
        "id": number,
        "message_id": f"m{number}",
        "place": place,
        "text": f"text {number}",
        "from_id": None,
        "thread": None,
        "buttons": [],
        "earlier_texts": [],
        "reactions": [],
        "deleted": False,
        "body": {},
        "received_at": "2026-01-01T00:00:00Z",
    }
    return plain | more


def shown(sent: list[dict[str, Any]], typed: list[dict[str, Any]], on: Service = SLACK, **chosen: str) -> ServiceRoom:
    return service_room(on, sent, typed, Chosen(**chosen), 200)


def test_every_service_the_sandbox_plays_has_a_section() -> None:
    assert [one.name for one in SERVICES] == list(FACES)


def test_what_was_sent_and_typed_stands_in_one_order_oldest_first() -> None:
    room = shown([said(1), said(4)], [said(3, from_id="U1000")])

    assert [(one.number, one.from_person, one.author) for one in room.notes] == [
        (1, False, ""),
        (3, True, "U1000"),
        (4, False, ""),
    ]


def test_no_more_are_shown_than_asked_for_and_the_newest_stay() -> None:
    room = service_room(SLACK, [said(number) for number in range(1, 6)], [], Chosen(), 2)

    assert [one.number for one in room.notes] == [4, 5]


def test_the_place_the_household_wrote_to_last_is_open_unless_another_is_chosen() -> None:
    sent, typed = [said(1, "anna"), said(2, "bob")], [said(3, "answers")]

    assert shown(sent, typed, NTFY).place == "bob"
    assert shown(sent, typed, NTFY).places == ["answers", "bob", "anna"]
    assert shown(sent, typed, NTFY, service="ntfy", place="anna").place == "anna"
    assert shown(sent, typed, NTFY, service="slack", place="anna").place == "bob"
    assert shown([], [], NTFY).place is None


def test_somebody_who_wrote_by_another_name_of_the_place_sees_what_they_wrote() -> None:
    room = shown([said(1, "C1")], [said(2, "D1000")], service="slack", place="U1000")

    assert room.place == "D1000"


def test_a_reply_quotes_what_it_answers_or_else_names_it() -> None:
    room = shown([said(1)], [said(2, thread="m1"), said(3, thread="m-before")])

    assert [one.answers for one in room.notes] == [None, "text 1", "m-before"]


def test_what_ntfy_calls_one_sequence_is_no_reply() -> None:
    assert [one.answers for one in shown([said(1, "anna", thread="sequence")], [], NTFY).notes] == [None]


def test_a_direct_channel_of_discord_is_called_by_its_person() -> None:
    assert DISCORD.called("7000000000000002001") == "user:2001"
    assert DISCORD.called("290926798999357250") == "290926798999357250"
    assert (SLACK.called("D1000"), NTFY.called("anna"), NTFY.called("")) == ("D1000", "anna", "")


def test_a_message_is_chosen_to_be_answered_on_its_own_service_only() -> None:
    assert shown([said(1)], [], service="slack", place="D1000", reply_to="m1").reply_to is not None
    assert shown([said(1)], [], DISCORD, service="slack", place="D1000", reply_to="m1").reply_to is None


def test_buttons_are_pressed_or_open_a_page_of_the_web_and_nothing_else() -> None:
    buttons = [
        {"label": "Yes", "data": "q:yes", "url": None},
        {"label": "Open", "data": None, "url": "https://e.org/a"},
        {"label": "Bad", "data": None, "url": "javascript:alert(1)"},
    ]

    keys = shown([said(1, buttons=buttons)], []).notes[0].keys

    assert [(one.label, one.data, one.url) for one in keys] == [
        ("Yes", "q:yes", None),
        ("Open", None, "https://e.org/a"),
    ]


def test_what_a_press_was_answered_and_who_alone_sees_a_message_are_shown() -> None:
    pressed = said(1, body={"presses": [{"button": "Yes", "text": "Thank you"}, {"button": "No", "text": None}, 3]})
    whispered = said(2, body={"ephemeral_to": "U7"})

    first, second = shown([pressed, whispered], []).notes

    assert [(one.label, one.answer) for one in first.toasts] == [("Yes", "Thank you"), ("No", "")]
    assert (first.only_for, second.only_for) == ("", "U7")


@pytest.mark.parametrize(
    ("service", "place", "asks"),
    [
        (SLACK, "D1000", False),
        (SLACK, "U1000", False),
        (SLACK, "C024BE91L", True),
        (DISCORD, "user:2001", False),
        (DISCORD, "7000000000000002001", False),
        (DISCORD, "290926798999357250", True),
        (NTFY, "anna", False),
    ],
)
def test_who_acts_is_asked_where_there_are_many(service: Service, place: str, asks: bool) -> None:
    assert service.asks_who(place) is asks
