"""What one process of a scenario is told to do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from chaos.crash_points import CrashPlan
from chaos.routes import ROUTES
from chaos.tokens import text_of


class Until(StrEnum):
    ANSWERED = "answered"  # every message of its own has an answer
    QUIET = "quiet"  # and nothing in the ledger is left to do
    TOLD = "told"  # until SIGTERM


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """One message; its token is its request id and its idempotency key, so it may be handed in again."""

    token: str
    channel: str
    address: str
    parts: int = 1
    on_uncertain: str | None = None

    def envelope(self) -> dict[str, object]:
        envelope: dict[str, object] = {
            "schema_version": "notify.v1",
            "origin_butler": "general",
            "idempotency_key": self.token,
            "delivery": {
                "intent": "send",
                "channel": self.channel,
                "recipient": self.address,
                "message": text_of(self.token, self.parts, ROUTES[self.channel].part_characters),
            },
        }
        if self.on_uncertain:
            envelope["on_uncertain"] = self.on_uncertain
        return envelope


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """
    `works` off: accept and store, but leave the sending to others.
    `jump_seconds`: the clock is set by this much once half of the messages are handed in.
    """

    environment: dict[str, str]
    journal: Path
    packages: tuple[Package, ...] = ()
    works: bool = True
    until: Until = Until.QUIET
    crash: CrashPlan | None = None
    at_once: int = 16
    wait_seconds: float = 0.0
    pause_seconds: float = 0.0  # of each caller after each message
    persistent: bool = True  # hand a refused message in again, as a careful caller does
    clock_offset_seconds: float = 0.0
    jump_seconds: float = 0.0
    timeout_seconds: float = 2.0  # of calls to providers whose timeout is no setting
    file_size_limit_bytes: int | None = None
    log: Path | None = None
    limit_seconds: float = 120.0
