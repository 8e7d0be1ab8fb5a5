"""The answers, to the letter of the specification."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.clock import START_US
from tests.inbox.examples import QUIET_ENDS_US, a_notification

from postroom.attention.considering import noticed
from postroom.attention.model import NoticeState
from postroom.attention.state import Standing
from postroom.inbox import rules as answers
from postroom.inbox.acts import SendNotification
from postroom.inbox.copies import outgoing
from postroom.inbox.model import Cursor, NewNotification, Notification, NotificationChange
from postroom.inbox.rules import apply, cursor_after, parse_cursor, priority_of
from postroom.kernel.acts.reading import read
from postroom.kernel.values.errors import PostroomError, ValidationError
from postroom.kernel.values.ids import to_text
from postroom.message.delivery import Priority
from postroom.message.wishes import Because, HoldReason


@pytest.mark.requirement("attention:note-held")
def test_of_a_copy_that_is_held_the_answer_says_until_when_and_why() -> None:
    note = a_notification()
    plain = answers.created(note, None)
    reasons = (HoldReason(Because.QUIET, QUIET_ENDS_US), HoldReason(Because.SLOT, QUIET_ENDS_US))
    notice = noticed(outgoing(note, "ada@example.com"), note.id, "ada", START_US)
    copy = Standing(notice=notice, state=NoticeState.HELD, until_us=QUIET_ENDS_US, reasons=reasons)

    assert answers.created(note, copy) == {
        **plain,
        "status": "deferred",
        "notice_id": note.id,
        "until": to_text(QUIET_ENDS_US),
        "reasons": ["quiet", "slot"],
    }
    muted = Standing(notice=notice, state=NoticeState.MUTED, reasons=(HoldReason(Because.MUTED),))
    told = {"status": "muted", "notice_id": note.id, "reasons": ["muted"]}
    assert answers.created(note, muted) == {**plain, **told}
    assert answers.created(note, Standing(notice=notice, state=NoticeState.RELEASED)) == plain


NOTE = a_notification()
LATER = START_US + 1_000
READ = replace(NOTE, seen_at_us=5, read_at_us=5)


@pytest.mark.parametrize(
    ("change", "before", "expected"),
    [
        pytest.param(NotificationChange.READ, NOTE, {"seen_at_us": LATER, "read_at_us": LATER}, id="read"),
        pytest.param(NotificationChange.UNREAD, READ, {"read_at_us": None}, id="unread"),
        pytest.param(NotificationChange.ARCHIVE, READ, {"archived_at_us": LATER}, id="archive"),
        pytest.param(
            NotificationChange.UNARCHIVE, replace(READ, archived_at_us=5), {"archived_at_us": None}, id="unarchive"
        ),
        pytest.param(NotificationChange.SNOOZE, NOTE, {"snoozed_until_us": LATER + 9}, id="snooze"),
        pytest.param(NotificationChange.DISMISS, READ, {"dismissed_at_us": LATER}, id="dismiss"),
    ],
)
def test_a_change_is_made_once(
    change: NotificationChange, before: Notification, expected: dict[str, int | None]
) -> None:
    after = apply(before, change, now_us=LATER, until_us=LATER + 9)
    assert after == replace(before, updated_at_us=LATER, **expected)  # type: ignore[arg-type]

    assert apply(after, change, now_us=LATER + 5, until_us=LATER + 9) == after


def test_dismissing_what_nobody_has_read_counts_as_reading() -> None:
    after = apply(NOTE, NotificationChange.DISMISS, now_us=LATER)

    assert after is not None
    assert (after.read_at_us, after.dismissed_at_us) == (LATER, LATER)


@pytest.mark.parametrize(
    "change", sorted(set(NotificationChange) - {NotificationChange.DISMISS, NotificationChange.RESTORE})
)
def test_what_was_dismissed_is_gone(change: NotificationChange) -> None:
    assert apply(replace(NOTE, dismissed_at_us=5), change, now_us=LATER) is None


def test_what_was_dismissed_can_be_brought_back_by_whoever_still_sees_it() -> None:
    gone = replace(READ, dismissed_at_us=5)

    assert apply(gone, NotificationChange.RESTORE, now_us=LATER) == replace(READ, updated_at_us=LATER)
    assert apply(READ, NotificationChange.RESTORE, now_us=LATER) == READ


def test_a_cursor_names_the_place_after_a_notification() -> None:
    note = a_notification()

    assert parse_cursor(cursor_after(note)) == Cursor(note.created_at_us, note.id)


@given(st.text() | st.binary().map(lambda raw: base64.urlsafe_b64encode(raw).decode().rstrip("=")))
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        parse_cursor(text)


BAD_LENGTH = "Message must be between 1 and 500 characters"


def asked(user_id: object = "ada", conversation_id: object = None, **fields: object) -> NewNotification:
    one, _ = read(SendNotification, {"message": "Hello", **fields}, SendNotification.declared.tool)
    return one.new(user_id=user_id, conversation_id=conversation_id)


def refusal(**fields: object) -> str:
    with pytest.raises(PostroomError) as refused:
        asked(**fields)
    answer = SendNotification.refused(refused.value)
    assert (answer["success"], answer["action"]) == (False, "validation_error")
    return str(answer["message"])


@pytest.mark.requirement("inbox:parameter-message", "inbox:validation-message-length")
@pytest.mark.parametrize("message", ["x", "x" * 500, f"   {'x' * 500}\n  ", "👩‍👩‍👧‍👦" * 71, "é" * 500])
def test_1_to_500_characters_after_trimming_are_kept(message: str) -> None:
    assert asked(message=message).message == message.strip()


@pytest.mark.requirement("inbox:validation-message-length", "inbox:response-validation-error")
@pytest.mark.parametrize("message", ["", "   \n\t ", "x" * 501, None, 5, ["x"], {"text": "x"}, True])
def test_no_message_and_too_long_a_message_are_refused(message: object) -> None:
    assert refusal(message=message) == refusal(message=message, type="urgent", thread=5) == BAD_LENGTH


@pytest.mark.parametrize("message", ["a\0b", "\ud800", "x\udfff"])
def test_text_that_no_store_could_keep_is_refused(message: str) -> None:
    assert refusal(message=message) in ("Message must not contain NUL", "Message is not valid Unicode")


@pytest.mark.requirement("inbox:parameter-type", "inbox:validation-type")
@pytest.mark.parametrize(
    ("given", "expected"),
    [({}, "info"), ({"type": None}, "info"), ({"type": "reminder"}, "reminder"), ({"type": "warning"}, "warning")],
)
def test_the_type_is_info_unless_given(given: dict[str, Any], expected: str) -> None:
    assert asked(**given).type == expected


@pytest.mark.requirement("inbox:validation-type")
@pytest.mark.parametrize("kind", ["urgent", "INFO", "", 1, ["info"], {}, "\0"])
def test_another_type_is_refused(kind: object) -> None:
    assert refusal(type=kind) == "Type must be one of: reminder, info, warning"


@pytest.mark.requirement("inbox:validation-user-id")
@pytest.mark.parametrize(
    "user_id", [None, "", "  ", {"id": 1}, True, "a\0", "\ud800", "x" * 129, pytest.param(10**5000, id="huge")]
)
def test_a_notification_without_a_proper_owner_is_refused(user_id: object) -> None:
    assert refusal(user_id=user_id).startswith("user_id ")


@pytest.mark.parametrize(
    ("given", "kept"), [("ada", "ada"), (" ada ", "ada"), (7, "7"), (UUID(int=1), str(UUID(int=1)))]
)
def test_ids_are_kept_as_text(given: object, kept: str) -> None:
    new = asked(user_id=given, conversation_id=given)

    assert (new.user_id, new.conversation_id) == (kept, kept)


def test_a_warning_is_urgent_unless_its_sender_says_otherwise() -> None:
    assert priority_of(asked(type="warning")) is Priority.HIGH
    assert priority_of(asked(type="warning", urgency="passive")) is Priority.LOW
