"""What becomes of a notification when its reader does something to it."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from postroom.domain.notification import Notification, NotificationChange


def apply(
    notification: Notification, change: NotificationChange, *, now_us: int, until_us: int | None = None
) -> Notification | None:
    """
    Doing it twice is doing it once: the first time stands.

    To its reader, what was dismissed is gone (None), except for dismissing it again.
    """
    if notification.dismissed_at_us is not None:
        return notification if change is NotificationChange.DISMISS else None
    after = _after(change, notification, now_us, until_us)
    return notification if after == notification else replace(after, updated_at_us=now_us)


def restored(notification: Notification, *, now_us: int) -> Notification:
    """Back among what was read, for whoever still sees what was dismissed."""
    if notification.dismissed_at_us is None:
        return notification
    return replace(notification, dismissed_at_us=None, updated_at_us=now_us)


def _after(change: NotificationChange, one: Notification, now_us: int, until_us: int | None) -> Notification:
    seen = replace(one, seen_at_us=one.seen_at_us or now_us)
    read = replace(seen, read_at_us=one.read_at_us or now_us)
    match change:
        case NotificationChange.SEE:
            return seen
        case NotificationChange.READ:
            return read
        case NotificationChange.UNREAD:
            return replace(one, read_at_us=None)
        case NotificationChange.ARCHIVE:
            return replace(read, archived_at_us=one.archived_at_us or now_us)
        case NotificationChange.UNARCHIVE:
            return replace(one, archived_at_us=None)
        case NotificationChange.SNOOZE:
            return replace(one, snoozed_until_us=until_us)
        case NotificationChange.DISMISS:
            return replace(read, dismissed_at_us=now_us)
        case _:
            assert_never(change)
