from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.inbox.examples import a_notification
from tests.support.kinds import KINDS

from postroom.channels.email.building import build
from postroom.inbox.copies import ending_of, outgoing
from postroom.inbox.model import Ending, GivenUp, HandedOver, TryAgain, shortened
from postroom.kernel.values.ids import DeliveryId, to_datetime
from postroom.message.delivery import Intent, Message
from postroom.message.wire import notify_document, parse_notify, read_response

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


def test_one_notification_is_its_own_letter() -> None:
    note = a_notification(message="Milk\nand bread", link="https://example.com/list")
    sent = notify_document(outgoing(note, "ada@example.com"))

    assert sent["origin_butler"] == "inbox"
    assert sent["delivery"] == {
        "intent": "send",
        "channel": "email",
        "recipient": "ada@example.com",
        "subject": "Reminder: Milk and bread",
        "message": "Milk\nand bread\n\nhttps://example.com/list",
    }


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=500)


@given(texts.filter(str.strip))
def test_whatever_a_model_writes_makes_a_letter_that_the_channel_takes(text: str) -> None:
    sent = outgoing(a_notification(message=text.strip()), "ada@example.com")
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
