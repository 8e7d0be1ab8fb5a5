"""What of a household runs, and what waits in it for the person who looks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingNow:
    """None is what this person may not see, what is switched off, or what could not be counted: never nothing."""

    questions: int | None
    approvals: int | None
    unread: int | None
    held: int | None
    dead_letters: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FailingChannel:
    name: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingNow:
    version: str
    sandbox: bool
    started_at_us: int
    waiting: WaitingNow
    failing: Sequence[FailingChannel]
