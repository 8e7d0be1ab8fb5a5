"""How a provider fares that sends us by itself what people do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PushState:
    waiting: int = 0
    """How many updates it has not yet brought to us."""
    error: str = ""
    """What went wrong the last time that it could not."""
    error_at_us: int = 0

    def fails_since(self, received_us: int) -> bool:
        """Something waits, and nothing has come since it last failed."""
        return self.waiting > 0 and bool(self.error) and self.error_at_us > received_us
