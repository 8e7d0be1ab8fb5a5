"""Every number the delivery plane goes by, in one place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from postroom.domain.breaker import BreakerPolicy
from postroom.domain.delivery import OnUncertain
from postroom.work.delivery.limits import LimitPolicy
from postroom.work.delivery.retry import RetryPolicy

_MARGIN_SECONDS = 15.0
_FILE_BYTES_PER_SECOND = 250_000
_LONGEST_UPLOAD_SECONDS = 240.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryPolicy:
    limits: LimitPolicy = field(default_factory=LimitPolicy)
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    breaker: BreakerPolicy = field(default_factory=BreakerPolicy)
    timeouts_seconds: Mapping[str, float] = field(default_factory=dict)
    default_timeout_seconds: float = 30.0
    on_uncertain: OnUncertain = OnUncertain.RESEND
    on_uncertain_by_channel: Mapping[str, OnUncertain] = field(default_factory=dict)
    spacing_seconds: Mapping[str, float] = field(default_factory=dict)
    lease_seconds: float = 30.0
    sweep_seconds: float = 5.0
    slots_per_channel: int = 32
    patience_seconds: float = 5.0  # longer waits go back to the ledger instead of holding a slot
    sign: bool = False
    mark_repeats: bool = True

    def timeout_seconds(self, channel: str, file_bytes: int = 0) -> float:
        """Of one call; files get the time that they take on a slow line."""
        usual = self.timeouts_seconds.get(channel)
        if usual is None:
            usual = self.timeouts_seconds.get(channel.strip().lower(), self.default_timeout_seconds)
        if not file_bytes:
            return usual
        return usual + min(file_bytes / _FILE_BYTES_PER_SECOND, _LONGEST_UPLOAD_SECONDS)

    def sending_lease_seconds(self, channel: str, file_bytes: int = 0) -> float:
        """A lease must outlast the call it covers."""
        covered = self.timeout_seconds(channel, file_bytes) + _MARGIN_SECONDS
        return covered if covered > self.lease_seconds else self.lease_seconds

    def asking_seconds(self, channel: str) -> float:
        """Asking whether something arrived must end well within the lease of the claim that asks."""
        return min(self.timeout_seconds(channel), self.lease_seconds / 2)

    def uncertain(self, channel: str, asked: OnUncertain | None) -> OnUncertain:
        return asked or self.on_uncertain_by_channel.get(channel, self.on_uncertain)
