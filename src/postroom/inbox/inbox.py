"""`send_notification`: check, count, keep, tell; and everything a person does in an inbox of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Protocol

import structlog
from prometheus_client import CollectorRegistry, Counter

from postroom.attention.model import Loaded, NoticeChanges, Policy, Wanted
from postroom.attention.rules.policy import PolicyBook
from postroom.attention.rules.reasons import Scene, away, silenced
from postroom.attention.rules.times import next_slot
from postroom.attention.state import AttentionState, PolicyChanged, Standing
from postroom.attention.turn import NoticeBook, Turn, state_of
from postroom.delivery.plane import Plane
from postroom.inbox import rules as answers
from postroom.inbox.copies import ConfirmationPost, ending_of, outgoing
from postroom.inbox.model import (
    MUTED,
    Batch,
    Defer,
    Drop,
    Ending,
    GivenUp,
    HandedOver,
    Judge,
    Notification,
    NotificationChange,
    NotificationId,
    NotificationQuery,
    Preferences,
    Send,
    TryAgain,
    Verdict,
)
from postroom.inbox.preferences import AddressCheck, changed, own_policy, shown, with_quiet_hours, zone_of
from postroom.inbox.rules import Answer, Request, apply, check, restored
from postroom.kernel.running.clock import Clock
from postroom.kernel.running.loop import Signal
from postroom.kernel.values.errors import PostroomError, ValidationError
from postroom.kernel.values.ids import seconds, to_text
from postroom.message.wishes import PRIORITY_URGENCY, AcceptedNotice, AttentionWish, Because, HoldReason
from postroom.people.model import person_of_inbox

# What the inbox needs from the world, by shape alone.

Edit = Callable[[Notification], Notification | None]


class Notes(Protocol):
    """
    The notifications themselves; every question names the person it is asked for.

    `create` counts, decides about the e-mail and writes in one transaction, so
    the hourly cap holds whoever else is writing; None means the cap is reached.
    """

    async def create(
        self, new: Notification, *, hourly_cap: int, judge: Judge
    ) -> tuple[Notification, Verdict] | None: ...

    async def page(self, user_id: str, page: NotificationQuery, now_us: int) -> Sequence[Notification]: ...

    async def since(self, user_id: str, moment_us: int, limit: int) -> Sequence[Notification]:
        """With a bell, in the order they came."""
        ...

    async def unread(self, user_id: str, now_us: int) -> int: ...

    async def change(self, user_id: str, notification_id: str, edit: Edit) -> Notification | None:
        """Read, edit and write as one step; None when it is not this person's, or the edit says so."""
        ...

    async def read_all(self, user_id: str, now_us: int) -> int:
        """What is in view now, archived and snoozed ones aside; returns how many were unread."""
        ...

    async def see_all(self, user_id: str, now_us: int) -> int: ...

    async def pulses(self, user_ids: Collection[str], since_us: int, now_us: int) -> Mapping[str, tuple[int, int]]:
        """For each user something happened to lately: a pair that differs whenever something more has happened."""
        ...


class PreferenceRows(Protocol):
    """As they are stored: with the row of attention, where the quiet hours are."""

    async def of(self, user_id: str) -> Preferences: ...

    async def change_both(
        self,
        user_id: str,
        wanted: Wanted,
        edit: Callable[[Preferences, Loaded], tuple[Preferences, NoticeChanges | None]],
        now_us: int,
    ) -> Preferences:
        """The preferences and what attention keeps of the same person, read, edited and written as one step."""
        ...


class PreferenceBook(Protocol):
    async def of(self, user_id: str) -> Preferences: ...

    async def change(self, user_id: str, edit: Callable[[Preferences], Preferences], now_us: int) -> Preferences:
        """Read, edit and write as one step, so that two edits at once both count."""
        ...


class HourlyCap(Protocol):
    """A quick no, shared by all processes. It may not know; the store counts again and has the last word."""

    async def take(self, user_id: str, notification_id: str, now_us: int) -> bool: ...

    async def give_back(self, user_id: str, notification_id: str) -> None: ...


class EmailQueue(Protocol):
    """E-mail copies that are not yet deliveries. A lease and a fence let any number of workers empty it."""

    async def take(
        self, *, now_us: int, lease_until_us: int, digest: bool, judge: Judge, mint: Callable[[int], str]
    ) -> Sequence[Batch]:
        """
        What is due, judged once more and leased to the caller.

        A batch that was taken before comes back exactly as it was decided then.
        """
        ...

    async def settle(self, batch: Batch, ending: Ending, now_us: int) -> bool:
        """False when the fence has moved on."""
        ...

    async def next_due_us(self) -> int | None: ...


class InboxMeter(Protocol):
    """Counts and logs what happens; never what was said."""

    def created(self, notification: Notification, email: Verdict) -> None: ...

    def limited(self, user_id: str, correlation_id: str | None) -> None: ...

    def handed_over(self, batch: Batch, ending: Ending) -> None: ...


# Accept a notification, and tell whoever is watching.


@dataclass(frozen=True, slots=True, kw_only=True)
class Notifications:
    """`email_due` wakes the releaser where it lives in the same process; `household` and `zone` count for everybody."""

    notes: Notes
    cap: HourlyCap
    feed: Feed
    email_due: Signal
    clock: Clock
    meter: InboxMeter
    mint: Callable[[int], str]
    hourly_cap: int
    email_enabled: bool
    household: Policy | None = None
    zone: str = "UTC"

    async def send(self, request: Request) -> Answer:
        try:
            new = self._new(request)
        except ValidationError as error:
            return answers.validation_error(error.message)
        try:
            stored = await self._store(new)
        except PostroomError:
            return answers.failed("the inbox is not available right now")
        if stored is None:
            self.meter.limited(new.user_id, new.correlation_id)
            return answers.rate_limited()
        return answers.created(*stored)

    def _new(self, request: Request) -> Notification:
        checked = check(request)
        now_us = self.clock.now_us()
        return Notification(
            id=NotificationId(self.mint(now_us)),
            user_id=checked.user_id,
            message=checked.message,
            type=checked.type,
            priority=checked.priority,
            created_at_us=now_us,
            updated_at_us=now_us,
            conversation_id=checked.conversation_id,
            correlation_id=checked.correlation_id or self.mint(now_us),
            link=checked.link,
            agent=checked.agent,
            wish=checked.wish,
        )

    async def _store(self, new: Notification) -> tuple[Notification, Verdict] | None:
        if not await self.cap.take(new.user_id, new.id, new.created_at_us):
            return None
        decide = partial(
            judge,
            email_enabled=self.email_enabled,
            now_us=new.created_at_us,
            household=self.household,
            zone=self.zone,
        )
        created = None
        try:
            created = await self.notes.create(new, hourly_cap=self.hourly_cap, judge=decide)
        finally:
            if created is None:
                await self.cap.give_back(new.user_id, new.id)
        if created is None:
            return None
        stored, email = created
        self.meter.created(stored, email)
        self.feed.ring(stored.user_id)
        if not isinstance(email, Drop):
            self.email_due.ring()
        return created


LOOK_SECONDS: Final = 0.5
# Another machine's clock may lag, and a transaction may commit later than its row says.
_OVERLAP_SECONDS: Final = 10.0


class Feed:
    """
    What happens in this process rings at once; for the rest one question to the
    store, for all who listen together, twice a second and only while anybody does.
    """

    def __init__(self, notes: Notes, clock: Clock) -> None:
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


# What its owner does with it, and what they want to be told.


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxActs:
    """`ring` tells open streams that somebody's inbox changed, `email_due` that a letter is to be written."""

    notes: Notes
    preferences: PreferenceBook
    address: AddressCheck
    ring: Callable[[str], None]
    email_due: Callable[[], None] = lambda: None

    async def change(
        self, user_id: str, notification_id: str, what: NotificationChange, now_us: int, until_us: int | None = None
    ) -> Notification | None:
        """None when there is no such notification in this inbox."""
        return await self._edit(user_id, notification_id, partial(apply, change=what, now_us=now_us, until_us=until_us))

    async def restore(self, user_id: str, notification_id: str, now_us: int) -> Notification | None:
        return await self._edit(user_id, notification_id, partial(restored, now_us=now_us))

    async def read_all(self, user_id: str, now_us: int) -> int:
        many = await self.notes.read_all(user_id, now_us)
        self.ring(user_id)
        return many

    async def see_all(self, user_id: str, now_us: int) -> int:
        return await self.notes.see_all(user_id, now_us)

    async def prefer(self, user_id: str, wishes: Mapping[str, Any], now_us: int, *, confirmed: bool) -> Preferences:
        """Raises ValidationError; an address that is not `confirmed` is asked first whether it wants this."""
        edit = partial(changed, wishes=wishes, address=self.address, confirmed=confirmed)
        after = await self.preferences.change(user_id, edit, now_us)
        if after.email_pending is not None:
            self.email_due()
        return after

    async def _edit(self, user_id: str, notification_id: str, edit: Edit) -> Notification | None:
        after = await self.notes.change(user_id, notification_id, edit)
        if after is not None:
            self.ring(user_id)
        return after


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxWishes:
    """One place for quiet hours: what is changed here is changed in the policy, in the same transaction."""

    rows: PreferenceRows
    book: NoticeBook

    async def of(self, user_id: str) -> Preferences:
        return self._shown(await self.rows.of(user_id))

    async def change(self, user_id: str, edit: Callable[[Preferences], Preferences], now_us: int) -> Preferences:
        """Read, edit and write as one step, so that two edits at once both count."""
        person, told = person_of_inbox(user_id), list[NoticeChanges]()

        def both(kept: Preferences, loaded: Loaded) -> tuple[Preferences, NoticeChanges | None]:
            told.clear()
            before = self._shown(kept)
            after = edit(before)
            changes = self._changes(person, kept, before, after, loaded, now_us)
            told.extend([changes] if changes is not None else [])
            same = after.quiet_hours_timezone == before.quiet_hours_timezone
            zone = kept.quiet_hours_timezone if same else after.quiet_hours_timezone
            return replace(after, quiet_hours_start=None, quiet_hours_end=None, quiet_hours_timezone=zone), changes

        after = await self.rows.change_both(user_id, self.book.wanted(person), both, now_us)
        if told:
            await self.book.refresh()
            self.book.woken.ring()
        return self._shown(after)

    def _shown(self, kept: Preferences) -> Preferences:
        return shown(kept, self.book.household, self.book.zone)

    def _changes(
        self, person: str, kept: Preferences, before: Preferences, after: Preferences, loaded: Loaded, now_us: int
    ) -> NoticeChanges | None:
        """What is held is judged anew under the policy as it is then."""
        own = own_policy(kept)
        policy = with_quiet_hours(own, before, after, self.book.household)
        turn = Turn(person, loaded, self.book.policies, now_us)
        if policy == turn.policy:
            return None
        turn.take(PolicyChanged(at_us=turn.moment_us, policy=policy))
        turn.judge()
        return turn.changes()


# Whether the e-mail copy of a notification goes now, later or never: asked when it is made and again at release.

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


# Hand e-mail copies over to the delivery plane when their time has come.

_RIVAL_PAUSE_SECONDS: Final = 0.1  # what is due and was not ours to take is in somebody's hands


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasePolicy:
    email_enabled: bool
    digest: bool
    household: Policy | None = None
    zone: str = "UTC"
    lease_seconds: float
    sweep_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Releaser:
    """
    Take, hand over, settle.

    Whatever happens between the first and the last, the batch keeps its id, and
    the plane keeps one delivery for each id: lost workers and rivals send nothing twice.
    """

    emails: EmailQueue
    plane: Plane
    policy: ReleasePolicy
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
        asked = await self.confirmations.send_due(copies=self.policy.email_enabled) if self.confirmations else 0
        now_us = self.clock.now_us()
        batches = await self.emails.take(
            now_us=now_us,
            lease_until_us=now_us + seconds(self.policy.lease_seconds),
            digest=self.policy.digest,
            judge=partial(
                judge,
                email_enabled=self.policy.email_enabled,
                now_us=now_us,
                household=self.policy.household,
                zone=self.policy.zone,
            ),
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
        sweep_us = now_us + seconds(self.policy.sweep_seconds)
        if due_us is None:
            return sweep_us
        return min(due_us if due_us > now_us else now_us + seconds(_RIVAL_PAUSE_SECONDS), sweep_us)


# Count what the inbox does, for Prometheus and the log.


class PrometheusInboxMeter:
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
        case Send():
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
