"""Hands e-mail copies over to the delivery plane when their time has come."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from postroom.domain.clock import Clock
from postroom.domain.email_copy import Batch
from postroom.domain.time import seconds
from postroom.system.signal import Signal
from postroom.work.attention.policy import Policy
from postroom.work.delivery.plane import Plane
from postroom.work.inbox.confirmation import ConfirmationPost
from postroom.work.inbox.deferral import judge
from postroom.work.inbox.ending import ending_of
from postroom.work.inbox.letter import outgoing
from postroom.work.inbox.ports import EmailQueue, InboxMeter

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
