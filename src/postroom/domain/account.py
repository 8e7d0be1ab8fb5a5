"""One account of a household on one channel: what it can do, and how it is doing."""

from __future__ import annotations

from dataclasses import dataclass

from postroom.domain.capabilities import Capabilities
from postroom.domain.inbound_trouble import InboundTrouble


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountHealth:
    circuit: str
    reason: str | None = None
    """Why the circuit is not closed."""
    retry_after_seconds: float | None = None
    throttled_seconds: float | None = None
    """How long the provider has asked us to wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedAccount:
    name: str
    kind: str
    configured: bool
    capabilities: Capabilities
    health: AccountHealth | None = None
    """None while the part that sends cannot be asked."""
    trouble: InboundTrouble | None = None
    """What keeps it from hearing people, if anything does."""
