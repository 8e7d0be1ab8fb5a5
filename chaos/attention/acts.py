"""What happens in a household of notices, one act after the other; each may be done again after a death in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chaos.crash_points import CrashPlan
from chaos.tokens import text_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Say:
    """Agents hand in notices at once; a token is in the text and is the key, so that it may be handed in again."""

    tokens: tuple[str, ...]
    channel: str = "telegram"
    urgency: str = "passive"
    needs_ack: bool = False

    def envelope(self, token: str) -> dict[str, object]:
        delivery = {
            "intent": "send",
            "channel": self.channel,
            "message": text_of(token),
            "urgency": self.urgency,
            "needs_ack": self.needs_ack,
        }
        return {
            "schema_version": "notify.v1",
            "origin_butler": "general",
            "idempotency_key": token,
            "delivery": delivery,
        }


@dataclass(frozen=True, slots=True)
class Later:
    seconds: float


@dataclass(frozen=True, slots=True)
class Quiet:
    """Until nothing is due and everything that was sent has its receipt."""


@dataclass(frozen=True, slots=True)
class Answer:
    token: str


@dataclass(frozen=True, slots=True)
class Change:
    """The owner's policy is this from now on."""

    policy: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Die:
    """From here on the process dies at the first passage of this point."""

    plan: CrashPlan


@dataclass(frozen=True, slots=True)
class Dead:
    """A process that comes here with the point not passed has not died as it should."""

    point: str


Act = Say | Later | Quiet | Answer | Change | Die | Dead
