"""What a reader does to a notification, once or twice."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.clock import START_US
from tests.work.inbox.examples import a_notification

from postroom.domain.notification import Notification, NotificationChange
from postroom.work.inbox.change import apply, restored

NOTE = a_notification()
LATER = START_US + 1_000
READ = replace(NOTE, seen_at_us=5, read_at_us=5)


@pytest.mark.parametrize(
    ("change", "before", "expected"),
    [
        pytest.param(NotificationChange.SEE, NOTE, {"seen_at_us": LATER}, id="see"),
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
    "change", [change for change in NotificationChange if change is not NotificationChange.DISMISS]
)
def test_what_was_dismissed_is_gone(change: NotificationChange) -> None:
    assert apply(replace(NOTE, dismissed_at_us=5), change, now_us=LATER) is None


def test_what_was_dismissed_can_be_brought_back_by_whoever_still_sees_it() -> None:
    gone = replace(READ, dismissed_at_us=5)

    assert restored(gone, now_us=LATER) == replace(READ, updated_at_us=LATER)
    assert restored(READ, now_us=LATER) == READ
