"""What becomes of a notification when its reader does something to it."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from postroom.domain.notification import Change, Notification


def apply(
    notification: Notification, change: Change, *, now_us: int, until_us: int | None = None
) -> Notification | None:
    """
    Doing it twice is doing it once: the first time stands.

    To its reader, what was dismissed is gone (None), except for dismissing it again.
    """
    if notification.dismissed_at_us is not None:
        return notification if change is Change.DISMISS else None
    after = _after(change, notification, now_us, until_us)
    return notification if after == notification else replace(after, updated_at_us=now_us)


def restored(notification: Notification, *, now_us: int) -> Notification:
    """Back among what was read, for whoever still sees what was dismissed."""
    if notification.dismissed_at_us is None:
        return notification
    return replace(notification, dismissed_at_us=None, updated_at_us=now_us)


def _after(change: Change, one: Notification, now_us: int, until_us: int | None) -> Notification:
    seen = replace(one, seen_at_us=one.seen_at_us or now_us)
    read = replace(seen, read_at_us=one.read_at_us or now_us)
    match change:
        case Change.SEE:
            return seen
        case Change.READ:
            return read
        case Change.UNREAD:
            return replace(one, read_at_us=None)
        case Change.ARCHIVE:
            return replace(read, archived_at_us=one.archived_at_us or now_us)
        case Change.UNARCHIVE:
            return replace(one, archived_at_us=None)
        case Change.SNOOZE:
            return replace(one, snoozed_until_us=until_us)
        case Change.DISMISS:
            return replace(read, dismissed_at_us=now_us)
        case _:
            assert_never(change)
