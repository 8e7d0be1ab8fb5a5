"""Whether the e-mail copy of a notification goes now, later or never: asked when it is made and again at release."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from postroom.domain.attention import PRIORITY_URGENCY, AcceptedNotice, AttentionWish, Because, HoldReason
from postroom.domain.email_copy import MUTED, Defer, Drop, Send, Verdict
from postroom.domain.inbox_owner import person_of_inbox
from postroom.domain.notice_rows import Loaded
from postroom.domain.notification import Notification, Preferences
from postroom.domain.time import seconds
from postroom.work.attention.policy import Policy
from postroom.work.attention.reasons import Scene, away
from postroom.work.attention.rules import PolicyBook
from postroom.work.attention.silences import silenced
from postroom.work.attention.slots import next_slot
from postroom.work.attention.state import AttentionState, Standing
from postroom.work.attention.stored import state_of
from postroom.work.inbox.quiet_hours import own_policy, zone_of

_MOST_STEPS: Final = 200
_NO_WISH: Final = AttentionWish()


def judge(
    notification: Notification,
    preferences: Preferences,
    *,
    email_enabled: bool,
    now_us: int,
    household: Policy | None = None,
    zone: str = "UTC",
) -> Verdict:
    """`household`: the policy that counts for everybody; `zone`: of who has named none."""
    if not email_enabled:
        return Drop("e-mail is switched off")
    if not preferences.delivery_channel.has_email:
        return Drop("the person wants no e-mail")
    if preferences.email is None:
        return Drop("no address is known")
    scene = _scene(notification, preferences, household, zone)
    if reason := _settled(notification) or _not_wanted(scene, now_us):
        return Drop(reason)
    if held := _held(notification, scene, now_us):
        return held
    return Send(preferences.email, zone_of(preferences, household, zone))


def _settled(notification: Notification) -> str | None:
    """Somebody who has dealt with it in the app needs no letter about it."""
    if notification.dismissed_at_us is not None:
        return "dismissed"
    if notification.archived_at_us is not None:
        return "archived"
    return "read" if notification.read_at_us is not None else None


def _scene(notification: Notification, preferences: Preferences, household: Policy | None, zone: str) -> Scene:
    """The copy as a notice among what attention knows of the person."""
    notice = _notice(notification)
    own, row = own_policy(preferences), preferences.attention
    people = {notice.person: own} if own is not None else {}
    book = PolicyBook(household=household, people=people, zone=zone_of(preferences, household, zone))
    state = AttentionState(person=notice.person)
    if row is not None:
        state = state_of(notice.person, Loaded(person=row))
    return Scene.of(state, book, Standing(notice=notice))


def _notice(one: Notification) -> AcceptedNotice:
    wish = one.wish or _NO_WISH
    lasts = wish.expires_in_seconds
    return AcceptedNotice(
        id=one.id,
        person=person_of_inbox(one.user_id),
        agent=one.agent,
        created_us=one.created_at_us,
        channel="",  # which way it leaves is not asked here
        urgency=wish.urgency or PRIORITY_URGENCY[str(one.priority)],
        category=wish.category,
        thread=wish.thread,
        needs_ack=wish.needs_ack,
        expires_us=one.created_at_us + seconds(lasts) if lasts is not None else None,
    )


def _not_wanted(scene: Scene, now_us: int) -> str | None:
    expires_us = scene.standing.notice.expires_us
    if expires_us is not None and expires_us <= now_us:
        return "expired"
    return MUTED if silenced(scene, now_us) is not None else None


def _held(notification: Notification, scene: Scene, now_us: int) -> Defer | None:
    """From the latest reason of each moment to the next, until none is left."""
    at, found = now_us, dict[Because, HoldReason]()
    for _ in range(_MOST_STEPS):
        reasons = {because: until for because, until in _reasons(notification, scene, at) if until and until > at}
        if not reasons:
            break
        found |= {because: HoldReason(because, until) for because, until in reasons.items()}
        at = max(reasons.values())
    return Defer(at, tuple(found.values())) if found else None


def _reasons(notification: Notification, scene: Scene, at_us: int) -> Iterator[tuple[Because, int | None]]:
    """
    The engine's own answers. It holds nothing for longer than its urgency allows; a copy waits for the whole of quiet
    hours, since the note itself is shown at once.
    """
    rules, absence = scene.rules, away(scene, at_us)
    yield Because.SNOOZE, notification.snoozed_until_us
    yield Because.AWAY, absence.end_us if absence is not None else None
    yield Because.QUIET, rules.quiet_until(scene.urgency, at_us)
    if rules.slots and scene.urgency in rules.slotted:
        yield Because.SLOT, next_slot(rules.slots, rules.quiet_hours, rules.zone, notification.created_at_us, {})
