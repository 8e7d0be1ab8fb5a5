"""Everything a model and its surroundings can get wrong."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from postroom.domain.delivery import Priority
from postroom.domain.errors import ValidationError
from postroom.domain.notification import NotificationType
from postroom.work.inbox.request import Request, check

BAD_LENGTH = "Message must be between 1 and 500 characters"


def asked(**fields: Any) -> Request:
    return Request(**{"message": "Hello", "user_id": "ada", **fields})


@pytest.mark.requirement("inbox:parameter-message", "inbox:validation-message-length")
@pytest.mark.parametrize("message", ["x", "x" * 500, f"   {'x' * 500}\n  ", "👩‍👩‍👧‍👦" * 71, "é" * 500])
def test_1_to_500_characters_after_trimming_are_kept(message: str) -> None:
    assert check(asked(message=message)).message == message.strip()


@pytest.mark.requirement("inbox:validation-message-length", "inbox:response-validation-error")
@pytest.mark.parametrize("message", ["", "   \n\t ", "x" * 501, None, 5, ["x"], {"text": "x"}, b"x", True])
def test_no_message_and_too_long_a_message_are_refused(message: object) -> None:
    with pytest.raises(ValidationError, match=BAD_LENGTH):
        check(asked(message=message))


@pytest.mark.parametrize("message", ["a\0b", "\ud800", "x\udfff"])
def test_text_that_no_store_could_keep_is_refused(message: str) -> None:
    with pytest.raises(ValidationError, match=r"^Message "):
        check(asked(message=message))


@pytest.mark.requirement("inbox:parameter-type", "inbox:validation-type")
@pytest.mark.parametrize(
    ("given", "expected"),
    [({}, "info"), ({"type": None}, "info"), ({"type": "reminder"}, "reminder"), ({"type": "warning"}, "warning")],
)
def test_the_type_is_info_unless_given(given: dict[str, Any], expected: str) -> None:
    assert check(asked(**given)).type == expected


@pytest.mark.requirement("inbox:validation-type")
@pytest.mark.parametrize("kind", ["urgent", "INFO", "", 1, ["info"], {}])
def test_another_type_is_refused(kind: object) -> None:
    with pytest.raises(ValidationError, match="Type must be one of: reminder, info, warning"):
        check(asked(type=kind))


@pytest.mark.requirement("inbox:validation-user-id")
@pytest.mark.parametrize(
    "user_id", [None, "", "  ", {"id": 1}, True, "a\0", "\ud800", "x" * 129, pytest.param(10**5000, id="huge")]
)
def test_a_notification_without_a_proper_owner_is_refused(user_id: object) -> None:
    with pytest.raises(ValidationError, match=r"^user_id "):
        check(asked(user_id=user_id))


@pytest.mark.parametrize(
    ("given", "kept"), [("ada", "ada"), (" ada ", "ada"), (7, "7"), (UUID(int=1), str(UUID(int=1)))]
)
def test_ids_are_kept_as_text(given: object, kept: str) -> None:
    checked = check(asked(user_id=given, conversation_id=given))

    assert (checked.user_id, checked.conversation_id) == (kept, kept)


def test_a_warning_is_urgent_unless_its_sender_says_otherwise() -> None:
    assert check(asked(type=NotificationType.WARNING)).priority is Priority.HIGH
    assert check(asked(type=NotificationType.WARNING, priority=Priority.LOW)).priority is Priority.LOW


@pytest.mark.parametrize("link", ["javascript:alert(1)", "https://x\n", "ftp://x", "https://" + "x" * 2000])
def test_a_link_leads_to_a_page_or_is_refused(link: str) -> None:
    with pytest.raises(ValidationError, match=r"^link "):
        check(asked(link=link))
