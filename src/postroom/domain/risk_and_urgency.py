"""How much may go wrong, and how soon a person should know."""

from __future__ import annotations

from enum import StrEnum


class Risk(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        return list(Risk).index(self)

    @property
    def is_high(self) -> bool:
        return self.rank >= Risk.HIGH.rank


class Urgency(StrEnum):
    PASSIVE = "passive"
    NORMAL = "normal"
    TIME_SENSITIVE = "time_sensitive"
    CRITICAL = "critical"
