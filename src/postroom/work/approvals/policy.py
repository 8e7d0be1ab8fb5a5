"""Everything the approval subsystem goes by, in one place."""

from __future__ import annotations

from dataclasses import dataclass, field

from postroom.domain.risk_and_urgency import Risk
from postroom.domain.time import seconds
from postroom.work.approvals.risk import RiskPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalPolicy:
    expiry_hours: float = 48.0
    risk: RiskPolicy = field(default_factory=RiskPolicy)
    replies_pass: bool = True  # into a thread somebody really wrote from; never on a payload's word
    most_pending_per_origin: int = 100
    sweep_seconds: float = 30.0
    phone: Risk | None = Risk.MEDIUM  # the highest that may be decided outside the console

    @property
    def expiry_us(self) -> int:
        return seconds(self.expiry_hours * 3600)
