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

from postroom.attention.state import Loaded, NoticeChanges, PolicyChanged
from postroom.attention.turn import NoticeBook, Turn
from postroom.delivery.accept import Plane
from postroom.inbox.copies import ConfirmationPost, ending_of, outgoing
from postroom.inbox.model import (
    Batch,
    Defer,
    Drop,
    Ending,
    GivenUp,
    HandedOver,
    NewNotification,
    Notification,
    NotificationChange,
    NotificationId,
    Preferences,
    SendNow,
    Terms,
    TryAgain,
    Verdict,
)
from postroom.inbox.preferences import changed, own_policy, shown, with_quiet_hours
from postroom.inbox.rules import Sent, apply, created, priority_of
from postroom.inbox.store.mail import StoredConfirmations, StoredEmails, StoredPreferences
from postroom.inbox.store.notes import StoredNotes
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
        stored, email = kept
        self.meter.created(stored, email)
        self.feed.ring(stored.user_id)
        if not isinstance(email, Drop):
            self.email_due.ring()
        return created(stored, email)

    async def _keep(self, new: Notification) -> tuple[Notification, Verdict] | None:
        """Redis may be away or have forgotten; the store counts again and has the last word."""
        cap = self.quick_cap
        if cap is not None and not await cap.take(new.user_id, new.id, new.created_at_us):
            return None
        kept = None
        try:
            kept = await self.notes.create(new, hourly_cap=self.hourly_cap, terms=self.terms)
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
        after = await self.notes.change(user_id, notification_id, edit)
        if after is not None:
            self.feed.ring(user_id)
        return after

    async def read_all(self, user_id: str) -> int:
        many = await self.notes.read_all(user_id, self.clock.now_us())
        self.feed.ring(user_id)
        return many

    async def see_all(self, user_id: str) -> int:
        return await self.notes.see_all(user_id, self.clock.now_us())

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
            turn = Turn(person, loaded, self.attention.policies, now_us)
            policy = with_quiet_hours(own_policy(kept), before, after, self.terms.household)
            has_new_policy = policy != turn.policy
            if not has_new_policy:
                return stored, None
            turn.take(PolicyChanged(at_us=turn.moment_us, policy=policy))
            turn.judge()  # what is held, under the policy as it is then
            return stored, turn.changes()

        after = await self.wishes.change_both(user_id, self.attention.wanted(person), both, now_us)
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


# Hand e-mail copies over to the delivery plane when their time has come.

_RIVAL_PAUSE_SECONDS: Final = 0.1  # what is due and was not ours to take is in somebody's hands


@dataclass(frozen=True, slots=True, kw_only=True)
class Releaser:
    """
    Take, hand over, settle.

    Whatever happens between the first and the last, the batch keeps its id, and
    the plane keeps one delivery for each id: lost workers and rivals send nothing twice.
    """

    emails: StoredEmails
    plane: Plane
    terms: Terms
    digest: bool
    lease_seconds: float
    sweep_seconds: float
    clock: Clock
    meter: InboxMeter
    mint: Callable[[int], str]
    wake: Signal
    stopping: asyncio.Event
    confirmations: ConfirmationPost | None = None

    async def look(self) -> int:
        """All that is due; returns when to look next unless it is woken before."""
        while await self.release_due() and not self.stopping.is_set():
            pass
        return await self._next_look_us()

    async def release_due(self) -> int:
        """Some of what is due; returns how many e-mails were handed over or put off."""
        asked = await self.confirmations.send_due(copies=self.terms.email_enabled) if self.confirmations else 0
        now_us = self.clock.now_us()
        batches = await self.emails.take(
            now_us=now_us,
            lease_until_us=now_us + seconds(self.lease_seconds),
            digest=self.digest,
            terms=self.terms,
            mint=self.mint,
        )
        for batch in batches:
            await self._release(batch)
        return asked + len(batches)

    async def _release(self, batch: Batch) -> None:
        outcome = await self.plane.submit(outgoing(batch), request_id=batch.id, wait_seconds=0)
        now_us = self.clock.now_us()
        ending = ending_of(outcome, batch.attempts, now_us)
        if await self.emails.settle(batch, ending, now_us):
            self.meter.handed_over(batch, ending)

    async def _next_look_us(self) -> int:
        """Another process may add an e-mail without a word to this one, so it never sleeps for long."""
        now_us, due_us = self.clock.now_us(), await self.emails.next_due_us()
        sweep_us = now_us + seconds(self.sweep_seconds)
        if due_us is None:
            return sweep_us
        return min(due_us if due_us > now_us else now_us + seconds(_RIVAL_PAUSE_SECONDS), sweep_us)


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
        self._emails = Counter(
            "postroom_notification_email", "E-mail copies by what became of them", ["outcome"], registry=registry
        )

    def created(self, notification: Notification, email: Verdict) -> None:
        self._created.labels(str(notification.type), _email(email)).inc()
        self._log.info(
            "notification.created",
            notification_id=notification.id,
            user_id=notification.user_id,
            type=str(notification.type),
            correlation_id=notification.correlation_id,
            conversation_id=notification.conversation_id,
            email=_email(email),
            email_after=to_text(email.until_us) if isinstance(email, Defer) else None,
            email_reason=email.reason if isinstance(email, Drop) else None,
        )

    def limited(self, user_id: str, correlation_id: str | None) -> None:
        self._limited.inc()
        self._log.warning("notification.limited", user_id=user_id, correlation_id=correlation_id)

    def handed_over(self, batch: Batch, ending: Ending) -> None:
        outcome = _outcome(ending)
        self._emails.labels(outcome).inc()
        self._log.info(
            "notification.email",
            batch_id=batch.id,
            user_id=batch.user_id,
            notifications=len(batch.notifications),
            outcome=outcome,
            delivery_id=ending.delivery_id if isinstance(ending, HandedOver) else None,
            error_class=None if isinstance(ending, HandedOver) else ending.reason,
        )


def _email(verdict: Verdict) -> str:
    match verdict:
        case SendNow():
            return "now"
        case Defer():
            return "later"
        case Drop():
            return "none"


def _outcome(ending: Ending) -> str:
    match ending:
        case HandedOver():
            return "handed_over"
        case TryAgain():
            return "put_off"
        case GivenUp():
            return "given_up"
