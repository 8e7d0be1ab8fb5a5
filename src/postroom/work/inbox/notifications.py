"""`send_notification`: check, count, keep, and tell whoever is watching."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from postroom.domain.clock import Clock
from postroom.domain.email_copy import Drop, Verdict
from postroom.domain.errors import PostroomError, ValidationError
from postroom.domain.notification import Notification, NotificationId
from postroom.system.signal import Signal
from postroom.work.attention.policy import Policy
from postroom.work.inbox import answers
from postroom.work.inbox.answers import Answer
from postroom.work.inbox.deferral import judge
from postroom.work.inbox.feed import Feed
from postroom.work.inbox.ports import HourlyCap, InboxMeter, Notes
from postroom.work.inbox.request import Request, check


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
