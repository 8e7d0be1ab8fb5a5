"""The answers, to the letter of the specification."""

from __future__ import annotations

import pytest
from tests.work.inbox.examples import QUIET_ENDS_US, a_notification

from postroom.domain.attention import Because, HoldReason
from postroom.domain.email_copy import Defer, Send
from postroom.domain.time import to_text
from postroom.work.inbox import answers


@pytest.mark.requirement("inbox:response-success")
def test_success() -> None:
    note = a_notification(message="x" * 60)

    assert answers.created(note) == {
        "success": True,
        "action": "notification_created",
        "message": f"Notification created: {'x' * 47}...",
        "notification_id": note.id,
        "type": "reminder",
    }


@pytest.mark.requirement("attention:note-held")
def test_of_a_copy_that_is_held_the_answer_says_until_when_and_why() -> None:
    note = a_notification()
    reasons = (HoldReason(Because.QUIET, QUIET_ENDS_US), HoldReason(Because.SLOT, QUIET_ENDS_US))

    assert answers.created(note, Defer(QUIET_ENDS_US, reasons)) == {
        **answers.created(note),
        "status": "deferred",
        "notice_id": note.id,
        "until": to_text(QUIET_ENDS_US),
        "reasons": ["quiet", "slot"],
    }
    assert answers.created(note, Send("ada@example.com")) == answers.created(note)


@pytest.mark.requirement("inbox:response-validation-error")
def test_a_wrong_message() -> None:
    assert answers.validation_error() == {
        "success": False,
        "action": "validation_error",
        "message": "Message must be between 1 and 500 characters",
    }


@pytest.mark.requirement("inbox:response-rate-limited")
def test_above_the_cap() -> None:
    assert answers.rate_limited() == {
        "success": False,
        "action": "rate_limited",
        "message": "Notification rate limit exceeded. Try again later.",
    }


@pytest.mark.requirement("inbox:response-system-error")
def test_a_failure() -> None:
    assert answers.failed("the inbox is not available right now") == {
        "success": False,
        "action": "error",
        "message": "Failed to create notification: the inbox is not available right now",
    }
