"""`send_notification`: check, count, keep, tell; and everything a person does in an inbox of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

import structlog
from prometheus_client import CollectorRegistry, Counter

from postroom.attention.model import SETTLED, UNSENT
from postroom.attention.state import Loaded, NoticeChanges, PolicyChanged, Standing
from postroom.attention.turn import NoticeBook
from postroom.inbox.copies import Copies
from postroom.inbox.model import (
    NewNotification,
    Notification,
    NotificationChange,
    NotificationId,
    Preferences,
    Terms,
)
from postroom.inbox.preferences import changed, own_policy, shown, with_quiet_hours
from postroom.inbox.rules import Sent, apply, created, priority_of
from postroom.inbox.store.mail import StoredConfirmations, StoredPreferences
from postroom.inbox.store.notes import Follow, StoredNotes
from postroom.kernel.running.clock import Clock
from postroom.kernel.running.loop import Signal
from postroom.kernel.values.errors import OverloadRejected
from postroom.kernel.values.ids import seconds, to_text
from postroom.people.model import person_of_inbox

if TYPE_CHECKING:
    from postroom.inbox.store.hourly_cap_redis import RedisHourlyCap

_HOUR_SECONDS: Final = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbox:
    """
    Every door calls this class.

    `attention` has the policies, in which the quiet hours are. `email_due` wakes who releases e-mail copies, where that
    happens in this process. `quick_cap` says no without a look at the database; without Redis there is none.
    """

    notes: StoredNotes
    wishes: StoredPreferences
    confirmations: StoredConfirmations
    attention: NoticeBook
    feed: Feed
    email_due: Signal
    clock: Clock
    meter: InboxMeter
    mint: Callable[[int], str]
    hourly_cap: int
    terms: Terms
    quick_cap: RedisHourlyCap | None = None

    @property
    def copies(self) -> Copies:
        return Copies(book=self.attention, terms=self.terms)

    def _followed(self, snoozed: str | None = None) -> Follow:
        return partial(self.copies.follow, now_us=self.clock.now_us(), snoozed=snoozed)

    # -- Accept a notification, and tell whoever is watching --

    async def send(self, asked: NewNotification) -> Sent:
        now_us = self.clock.now_us()
        new = Notification(
            id=NotificationId(self.mint(now_us)),
            user_id=asked.user_id,
            message=asked.message,
            type=asked.type,
            priority=priority_of(asked),
            created_at_us=now_us,
            updated_at_us=now_us,
            conversation_id=asked.conversation_id,
            correlation_id=asked.correlation_id or self.mint(now_us),
            link=asked.link,
            agent=asked.agent,
            wish=asked.wish,
        )
        if (kept := await self._keep(new)) is None:
            self.meter.limited(new.user_id, new.correlation_id)
            raise OverloadRejected("too many notifications", limit_type="inbox", retry_after_seconds=_HOUR_SECONDS)
        stored, copy = kept
        self.meter.created(stored, copy)
        self.feed.ring(stored.user_id)
        if copy is not None:
            self.attention.known |= {copy.notice.person}
            self.attention.woken.ring()
        return created(stored, copy)

    async def _keep(self, new: Notification) -> tuple[Notification, Standing | None] | None:
        """Redis may be away or have forgotten; the store counts again and has the last word."""
        cap = self.quick_cap
        if cap is not None and not await cap.take(new.user_id, new.id, new.created_at_us):
            return None
        kept = None
        try:
            kept = await self.notes.create(
                new,
                hourly_cap=self.hourly_cap,
                copy=self.copies.copy,
                wanted=self.attention.wanted(person_of_inbox(new.user_id)),
            )
        finally:
            if kept is None and cap is not None:
                await cap.give_back(new.user_id, new.id)
        return kept

    # -- What its owner does with it --

    async def change(
        self, user_id: str, notification_id: str, what: NotificationChange, until_us: int | None = None
    ) -> Notification | None:
        """None when there is no such notification in this inbox."""
        edit = partial(apply, change=what, now_us=self.clock.now_us(), until_us=until_us)
        follow = self._followed(notification_id if what is NotificationChange.SNOOZE else None)
        after = await self.notes.change(user_id, notification_id, edit, follow)
        if after is not None:
            self.feed.ring(user_id)
            self.attention.woken.ring()
        return after

    async def read_all(self, user_id: str) -> int:
        many = await self.notes.read_all(user_id, self.clock.now_us(), self._followed())
        self.feed.ring(user_id)
        return many

    async def see_all(self, user_id: str) -> int:
        return await self.notes.see_all(user_id, self.clock.now_us())

    async def keep_to_terms(self) -> None:
        """Copies that wait from a time when there were any are not mailed once e-mail is switched off."""
        if not self.terms.email_enabled:
            await self.notes.follow_all(self._followed())

    # -- What they want to be told. Quiet hours have one place: they are changed in the policy, in the same transaction

    async def preferences(self, user_id: str) -> Preferences:
        return self._shown(await self.wishes.of(user_id))

    async def prefer(
        self, user_id: str, wished: Preferences, names: Collection[str], *, confirmed: bool
    ) -> Preferences:
        """Only what is named counts; an address that is not `confirmed` is asked first whether it wants this."""
        edit = partial(changed, wished=wished, names=names, confirmed=confirmed)
        after = await self.change_preferences(user_id, edit)
        if after.email_pending is not None:
            self.email_due.ring()
        return after

    async def change_preferences(self, user_id: str, edit: Callable[[Preferences], Preferences]) -> Preferences:
        """Read, edit and write as one step, so that two edits at once both count."""
        person, now_us, has_new_policy = person_of_inbox(user_id), self.clock.now_us(), False

        def both(kept: Preferences, loaded: Loaded) -> tuple[Preferences, NoticeChanges | None]:
            nonlocal has_new_policy  # the transaction may run again, and its last run counts
            before = self._shown(kept)
            after = edit(before)
            same = after.quiet_hours_timezone == before.quiet_hours_timezone
            zone = kept.quiet_hours_timezone if same else after.quiet_hours_timezone
            stored = replace(after, quiet_hours_start=None, quiet_hours_end=None, quiet_hours_timezone=zone)
            turn = self.attention.begun(person, loaded, now_us)
            policy = with_quiet_hours(own_policy(kept), before, after, self.terms.household)
            if policy is not None and policy.zone is None and policy.quiet_hours and zone:
                policy = replace(policy, zone=zone)  # named before there were hours
            has_new_policy = policy != turn.policy
            if not has_new_policy:
                return stored, None
            turn.take(PolicyChanged(at_us=turn.moment_us, policy=policy))
            turn.judge()  # what is held, under the policy as it is then
            return stored, turn.changes()

        after = await self.wishes.change_both(user_id, self.attention.wanted(person), both, self._followed(), now_us)
        if has_new_policy:
            await self.attention.refresh()
            self.attention.woken.ring()
        return self._shown(after)

    def _shown(self, kept: Preferences) -> Preferences:
        return shown(kept, self.terms.household, self.terms.zone)


# What happens in an inbox, for those who watch it.

LOOK_SECONDS: Final = 0.5
# Another machine's clock may lag, and a transaction may commit later than its row says.
_OVERLAP_SECONDS: Final = 10.0


class Feed:
    """
    What happens in this process rings at once; for the rest one question to the
    store, for all who listen together, twice a second and only while anybody does.
    """

    def __init__(self, notes: StoredNotes, clock: Clock) -> None:
        self._notes = notes
        self._clock = clock
        self._signals: dict[str, set[Signal]] = {}
        self._pulses: dict[str, tuple[int, int]] = {}
        self.anybody = Signal()
        self.stopping = asyncio.Event()

    def ring(self, user_id: str) -> None:
        for signal in self._signals.get(user_id, ()):
            signal.ring()

    @contextmanager
    def listening(self, user_id: str) -> Iterator[Signal]:
        signal = Signal()
        if not self._signals:
            self.anybody.ring()
        if self.stopping.is_set():
            signal.close()
        self._signals.setdefault(user_id, set()).add(signal)
        try:
            yield signal
        finally:
            self._signals[user_id].discard(signal)
            if not self._signals[user_id]:
                del self._signals[user_id]
                self._pulses.pop(user_id, None)

    def stop(self) -> None:
        """Streams end by themselves, so that none has to be cut off."""
        self.stopping.set()
        self.anybody.ring()
        for signals in self._signals.values():
            for signal in signals:
                signal.close()

    async def look(self) -> int | None:
        """One question for all who listen; returns when to ask again, None until `anybody` comes."""
        if not self._signals:
            return None
        now_us = self._clock.now_us()
        found = await self._notes.pulses(frozenset(self._signals), now_us - seconds(_OVERLAP_SECONDS), now_us)
        for user_id, pulse in found.items():
            if user_id in self._signals and self._pulses.get(user_id) != pulse:
                self._pulses[user_id] = pulse
                self.ring(user_id)
        return self._clock.now_us() + seconds(LOOK_SECONDS)


# Count what the inbox does, for Prometheus and the log.


class InboxMeter:
    """Neither texts nor addresses are written down."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._log = structlog.get_logger("postroom.inbox")
        self._created = Counter(
            "postroom_notification_created", "Notifications kept", ["type", "email"], registry=registry
        )
        self._limited = Counter(
            "postroom_notification_limited", "Notifications above the hourly cap", registry=registry
        )

    def created(self, notification: Notification, copy: Standing | None) -> None:
        email = _email(copy)
        self._created.labels(str(notification.type), email).inc()
        self._log.info(
            "notification.created",
            notification_id=notification.id,
            user_id=notification.user_id,
            type=str(notification.type),
            correlation_id=notification.correlation_id,
            conversation_id=notification.conversation_id,
            email=email,
            email_after=to_text(copy.until_us) if copy is not None and copy.until_us is not None else None,
        )

    def limited(self, user_id: str, correlation_id: str | None) -> None:
        self._limited.inc()
        self._log.warning("notification.limited", user_id=user_id, correlation_id=correlation_id)


def _email(copy: Standing | None) -> str:
    if copy is None or copy.state in SETTLED:
        return "none"
    return "later" if copy.state in UNSENT else "now"
