from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.inbox.examples import a_notification
from tests.support.kinds import KINDS

from postroom.channels.email.building import build
from postroom.inbox.copies import ending_of, outgoing
from postroom.inbox.model import Batch, Ending, GivenUp, HandedOver, Notification, NotificationType, TryAgain, shortened
from postroom.kernel.values.ids import DeliveryId, to_datetime
from postroom.message.delivery import Intent, Message, Priority
from postroom.message.wire import notify_document, parse_notify, read_response
from postroom.message.wishes import AttentionWish, Urgency

NOW = 1_000_000_000


@pytest.mark.parametrize(
    ("answer", "attempts", "expected"),
    [
        pytest.param({"status": "accepted", "delivery": {"delivery_id": "d1"}}, 0, HandedOver("d1"), id="accepted"),
        pytest.param(
            {"status": "pending_approval", "delivery": {"delivery_id": "d1"}}, 0, HandedOver("d1"), id="asked"
        ),
        pytest.param(
            {"status": "error", "delivery": {"delivery_id": "d1"}, "error": {"class": "timeout"}},
            0,
            HandedOver("d1"),
            id="failed, which is the ledger's affair",
        ),
        pytest.param(
            {"status": "error", "error": {"class": "validation_error", "fields": [{"code": "key_reused"}]}},
            0,
            HandedOver(None),
            id="accepted before in other words",
        ),
        pytest.param(
            {"status": "error", "retryable": False, "error": {"class": "validation_error"}},
            0,
            GivenUp("validation_error"),
            id="never",
        ),
        pytest.param(
            {"status": "error", "retryable": True, "error": {"class": "target_unavailable"}},
            3,
            TryAgain(NOW + 8_000_000, "target_unavailable"),
            id="later each time",
        ),
        pytest.param(
            {"status": "error", "retryable": True, "error": {"class": "overload_rejected", "retry_after_seconds": 42}},
            0,
            TryAgain(NOW + 42_000_000, "overload_rejected"),
            id="as long as it is told",
        ),
        pytest.param(
            {"status": "error", "retryable": True, "error": {"class": "timeout"}},
            99,
            GivenUp("timeout"),
            id="too often",
        ),
    ],
)
def test_how_a_hand_over_ends(answer: dict[str, Any], attempts: int, expected: Ending) -> None:
    assert ending_of(read_response(answer), attempts, NOW) == expected


def a_batch(
    notifications: Sequence[Notification], zone: str = "UTC", *, id: str = "b1", address: str = "ada@example.com"
) -> Batch:
    return Batch(
        id=id,
        fence=1,
        attempts=0,
        user_id="ada",
        address=address,
        zone=zone,
        notifications=notifications,
    )


def test_one_notification_is_its_own_letter() -> None:
    note = a_notification(message="Milk\nand bread", link="https://example.com/list")
    sent = notify_document(outgoing(a_batch([note])))

    assert (sent["origin_butler"], sent["idempotency_key"]) == ("inbox", "inbox-email:b1")
    assert sent["delivery"] == {
        "intent": "send",
        "channel": "email",
        "recipient": "ada@example.com",
        "subject": "Reminder: Milk and bread",
        "message": "Milk\nand bread\n\nhttps://example.com/list",
    }


def test_several_are_listed_with_their_local_times_and_travel_as_urgently_as_the_most_urgent() -> None:
    first = a_notification(message="One")
    second = a_notification(message="Two", type=NotificationType.WARNING, priority=Priority.HIGH)
    sent = notify_document(outgoing(a_batch([first, second], "Europe/Berlin")))

    assert sent["priority"] == "high"
    assert sent["delivery"]["subject"] == "2 notifications"
    assert "Thu 01 Jan, 01:00 CET  Reminder\nOne\n\nThu 01 Jan, 01:00 CET  Warning\nTwo" in sent["delivery"]["message"]


@pytest.mark.requirement("attention:note-fields")
def test_a_letter_asks_for_what_its_notes_asked_for() -> None:
    first = a_notification(wish=AttentionWish(urgency=Urgency.PASSIVE, thread="laundry", supersedes="k"))
    second = a_notification(wish=AttentionWish(urgency=Urgency.NORMAL, needs_ack=True))

    assert outgoing(a_batch([a_notification()])).wish is None
    assert outgoing(a_batch([first])).wish == AttentionWish(urgency=Urgency.PASSIVE, thread="laundry")
    assert outgoing(a_batch([first, second])).wish == AttentionWish(urgency=Urgency.NORMAL, needs_ack=True)


def test_the_same_batch_is_the_same_letter() -> None:
    notes = [a_notification(), a_notification()]

    assert outgoing(a_batch(notes)) == outgoing(a_batch(notes))


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=500)


@given(texts.filter(str.strip))
def test_whatever_a_model_writes_makes_a_letter_that_the_channel_takes(text: str) -> None:
    sent = outgoing(a_batch([a_notification(message=text.strip())]))
    notify = parse_notify(notify_document(sent), KINDS)
    message = Message(
        delivery_id=DeliveryId("d1"),
        intent=Intent.SEND,
        address="ada@example.com",
        text=notify.message,
        subject=notify.subject,
    )

    build(message, sender="postroom@example.com", now=to_datetime(0))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("short", "short", id="short"),
        pytest.param("0123456789", "0123456789", id="exactly"),
        pytest.param("01234567890", "0123456...", id="cut"),
        pytest.param("a\r\nBcc: x", "a Bcc: x", id="one line"),
        pytest.param("=?utf-8?b?", "= ?utf-...", id="no encoded word"),
    ],
)
def test_a_preview_is_one_short_line(text: str, expected: str) -> None:
    assert shortened(text, 10) == expected
