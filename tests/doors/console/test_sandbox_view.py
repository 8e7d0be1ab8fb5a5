"""What the sandbox tells, sorted the way a phone and a mailbox show it."""

from __future__ import annotations

from typing import Any

from postroom.doors.console.sandbox_view import awaited, fingerprint, letters, phone


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
        "from_id": None,
        "edits": [],
        "presses": [],
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


def test_a_message_that_asks_for_a_reply_is_awaited_until_something_follows() -> None:
    asking = said(1, reply_markup={"force_reply": True, "input_field_placeholder": "Why?"})

    shown = awaited(phone([asking], [], ""))

    assert shown is not None
    assert (shown.message_id, shown.placeholder) == (1, "Why?")
    assert awaited(phone([asking], [said(2)], "")) is None
    assert awaited(phone([], [], "")) is None


def test_what_a_message_said_before_is_shown_with_it() -> None:
    edit = {"text": "before", "reply_markup": None, "edited_at": None}
    shown = phone([said(1, edits=[edit], earlier_texts=["before"])], [], "").bubbles[0]

    assert (shown.is_edited, shown.earlier) == (True, ["before"])


def test_letters_come_newest_first_with_who_wrote_them() -> None:
    assert [(one["id"], mine) for one, mine in letters([{"id": 1}, {"id": 3}], [{"id": 2}])] == [
        (3, False),
        (2, True),
        (1, False),
    ]


def test_a_fingerprint_changes_with_what_is_shown() -> None:
    assert fingerprint([said(1)], "a") == fingerprint([said(1)], "a")
    assert len({fingerprint([said(1)]), fingerprint([said(2)]), fingerprint([said(1, reactions=["👍"])])}) == 3
