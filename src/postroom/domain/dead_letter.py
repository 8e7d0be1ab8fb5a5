"""A delivery that was given up, and what may become of it."""

from __future__ import annotations

from dataclasses import dataclass

from postroom.domain.delivery import Intent, QuarantineReason, Status
from postroom.domain.ids import DeadLetterId, DeliveryId


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierReplay:
    delivery_id: DeliveryId
    number: int
    status: Status


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """
    One dead letter together with its lineage.

    The lineage is the original delivery and everything replayed from it. When
    any attempt in it is uncertain, the person may already have the message.
    """

    id: DeadLetterId
    delivery_id: DeliveryId
    original_delivery_id: DeliveryId
    request_id: str
    idempotency_key: str
    origin_butler: str
    channel: str
    intent: Intent
    target_identity: str
    quarantine_reason: QuarantineReason
    error_class: str | None
    error_summary: str | None
    total_attempts: int
    replay_count: int
    discarded_at_us: int | None
    discard_reason: str | None
    created_at_us: int
    replays: tuple[EarlierReplay, ...]
    uncertain: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """The new delivery a replay makes; its content is the dead letter's own."""

    delivery_id: DeliveryId
    number: int
    idempotency_key: str
    possible_duplicate: bool
    at_us: int
    trace_id: str | None


@dataclass(frozen=True, slots=True)
class ReplayRefused:
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Discard:
    """`fresh` is false when the letter had been discarded before; the data are then the first one's."""

    at_us: int
    reason: str
    fresh: bool
