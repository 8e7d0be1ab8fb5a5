"""What the sandbox tells, sorted the way a phone and a mailbox show it."""

from __future__ import annotations

from typing import Any

import pytest

from postroom.doors.console.sandbox_view import fingerprint, letters, phone


def said(message_id: int, chat: str = "1000", **more: Any) -> dict[str, Any]:
    plain = {
        "message_id": message_id,
        "chat_id": chat,
        "text": f"text {message_id}",
        "received_at": "2026-01-01T00:00:00Z",
        "reply_to_message_id": None,
        "reactions": [],
        "earlier_texts": [],
        "reply_markup": None,
    }
    return plain | more


def test_what_was_sent_and_typed_stands_in_one_order_newest_first() -> None:
    shown = phone([said(1), said(4)], [said(3)], "1000")

    assert [(one.message_id, one.from_person) for one in shown.bubbles] == [(4, False), (3, True), (1, False)]


def test_the_chat_that_spoke_last_is_open_unless_another_is_asked_for() -> None:
    sent = [said(1, "a"), said(2, "b")]

    assert phone(sent, [], "").chats == ["b", "a"]
    assert phone(sent, [], "").chat == phone(sent, [], "unknown").chat == "b"
    assert phone(sent, [], "a").chat == "a"
    assert phone([], [], "a").chat is None


@pytest.mark.parametrize(
    ("markup", "buttons"),
    [
        pytest.param({"inline_keyboard": [[{"text": "Yes", "callback_data": "y"}]]}, [("Yes", "y")], id="a button"),
        pytest.param({"inline_keyboard": [[{"text": "Site", "url": "https://e.org"}]]}, [], id="a link says nothing"),
        pytest.param({"inline_keyboard": ["x", [1, None]]}, [], id="nonsense"),
        pytest.param({"keyboard": []}, [], id="another keyboard"),
        pytest.param([], [], id="no object"),
        pytest.param(None, [], id="none"),
    ],
)
def test_buttons_are_those_that_say_something_to_the_bot(markup: object, buttons: list[tuple[str, str]]) -> None:
    assert phone([said(1, reply_markup=markup)], [], "").bubbles[0].buttons == buttons


def test_letters_come_newest_first_with_who_wrote_them() -> None:
    assert [(one["id"], mine) for one, mine in letters([{"id": 1}, {"id": 3}], [{"id": 2}])] == [
        (3, False),
        (2, True),
        (1, False),
    ]


def test_a_fingerprint_changes_with_what_is_shown() -> None:
    assert fingerprint([said(1)], "a") == fingerprint([said(1)], "a")
    assert len({fingerprint([said(1)]), fingerprint([said(2)]), fingerprint([said(1, reactions=["👍"])])}) == 3
