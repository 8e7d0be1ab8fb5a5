"""Whether the e-mail copy of a notification goes now, later or never: asked when it is made and again at release."""

from __future__ import annotations

from postroom.domain.delivery import Priority
from postroom.domain.email_copy import Defer, Drop, Send, Verdict
from postroom.domain.notification import Notification, Preferences
from postroom.domain.time import to_datetime, to_us
from postroom.work.inbox.quiet_hours import quiet_hours_of


def judge(notification: Notification, preferences: Preferences, *, email_enabled: bool, now_us: int) -> Verdict:
    if not email_enabled:
        return Drop("e-mail is switched off")
    if not preferences.delivery_channel.has_email:
        return Drop("the person wants no e-mail")
    if preferences.email is None:
        return Drop("no address is known")
    if reason := _settled(notification):
        return Drop(reason)
    if until_us := _quiet_until_us(notification, preferences, now_us):
        return Defer(until_us)
    return Send(preferences.email)


def _settled(notification: Notification) -> str | None:
    """Somebody who has dealt with it in the app needs no letter about it."""
    if notification.dismissed_at_us is not None:
        return "dismissed"
    if notification.archived_at_us is not None:
        return "archived"
    return "read" if notification.read_at_us is not None else None


def _quiet_until_us(notification: Notification, preferences: Preferences, now_us: int) -> int | None:
    if notification.snoozed_until_us is not None and notification.snoozed_until_us > now_us:
        return notification.snoozed_until_us
    quiet = quiet_hours_of(preferences)
    if quiet is None or (notification.priority is Priority.HIGH and preferences.high_priority_passes):
        return None
    until = quiet.until(to_datetime(now_us))
    return to_us(until) if until is not None else None
