"""Settles deliveries whose worker was lost, as the rules of the sweep say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from postroom.domain.capabilities import UNDECLARED, KnownChannels
from postroom.domain.clock import Clock
from postroom.domain.delivery import TERMINAL
from postroom.domain.ledger import Claim, Settlement
from postroom.domain.seams import Ledger, Limits, Meter
from postroom.work.delivery.retry import RetryPolicy
from postroom.work.delivery.sweep import conclude


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    ledger: Ledger
    limits: Limits
    retry: RetryPolicy
    clock: Clock
    meter: Meter
    dice: Callable[[], float]
    mint: Callable[[int], str]
    can: KnownChannels

    async def settle(self, claim: Claim) -> Settlement | None:
        """None when somebody else has taken it over meanwhile."""
        now = self.clock.now_us()
        can = self.can.get(claim.channel, UNDECLARED)  # it may have been taken out of the settings
        done = conclude(claim, self.retry, now_us=now, dice=self.dice(), dead_letter_id=self.mint(now), can=can)
        if not await self.ledger.settle(done):
            return None
        self.meter.settled(done)
        if done.status in TERMINAL:
            await self.limits.release(claim.id)
        return done
