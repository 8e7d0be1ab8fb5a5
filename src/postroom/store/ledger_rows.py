"""How a row of delivery_requests becomes a value, and a value a row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from postroom.domain.delivery import TERMINAL, Failure, Intent, OnUncertain, Priority, Status
from postroom.domain.errors import ErrorClass
from postroom.domain.ids import DeliveryId
from postroom.domain.ledger import (
    FIRST_FENCE,
    PRIORITY_RANK,
    Claim,
    Inserted,
    Lease,
    NewDelivery,
    Refusal,
    Settlement,
    Snapshot,
)

PRIORITIES: Final = {rank: priority for priority, rank in PRIORITY_RANK.items()}

INSERT_COLUMNS: Final = (
    "id",
    "idempotency_key",
    "fingerprint",
    "request_id",
    "origin_butler",
    "channel",
    "intent",
    "target_identity",
    "address",
    "thread",
    "order_key",
    "message_content",
    "subject",
    "emoji",
    "request_envelope",
    "priority",
    "on_uncertain",
    "status",
    "fence",
    "lease_until",
    "sending",
    "trace_id",
    "replay_of",
    "replay_number",
    "created_at",
)
CLAIM_COLUMNS: Final = (
    "id, fence, channel, intent, address, thread, message_content, subject, emoji, origin_butler, order_key, "
    "request_id, priority, on_uncertain, attempts, calls, parts_done, sending, possible_duplicate, trace_id, created_at"
)
SNAPSHOT_COLUMNS: Final = (
    "id, idempotency_key, fingerprint, request_id, origin_butler, channel, intent, status, attempts, "
    "possible_duplicate, not_before, waiting_reason, provider_delivery_id, terminal_error_class, "
    "terminal_error_message"
)
REFUSAL_COLUMNS: Final = (
    "id, idempotency_key, request_id, origin_butler, channel, intent, target_identity, error_class, error_message, "
    "limit_type, retry_after_seconds, trace_id, created_at"
)

Row = Sequence[Any] | Mapping[str, Any]


def insert_values(new: NewDelivery, lease: Lease | None) -> tuple[Any, ...]:
    held = lease if new.status is Status.PENDING else None
    return (
        new.id,
        new.idempotency_key,
        new.fingerprint,
        new.request_id,
        new.origin_butler,
        new.channel,
        str(new.intent),
        new.target_identity,
        new.address,
        new.thread,
        new.order_key,
        new.message,
        new.subject,
        new.emoji,
        new.envelope,
        PRIORITY_RANK[new.priority],
        str(new.on_uncertain),
        str(Status.IN_PROGRESS if held else new.status),
        FIRST_FENCE,
        held.until_us if held else None,
        held is not None and held.sending,
        new.trace_id,
        new.replay_of,
        new.replay_number,
        new.created_at_us,
    )


def new_snapshot(new: NewDelivery, status: Status) -> Snapshot:
    return Snapshot(
        id=new.id,
        idempotency_key=new.idempotency_key,
        fingerprint=new.fingerprint,
        request_id=new.request_id,
        origin_butler=new.origin_butler,
        channel=new.channel,
        intent=new.intent,
        status=status,
        attempts=0,
        possible_duplicate=False,
        not_before_us=new.created_at_us,
        waiting_reason=None,
        provider_delivery_id=None,
        failure=None,
    )


def found_again(new: NewDelivery, existing: Snapshot) -> Inserted:
    """The key is taken; by this very row, when only the answer to the first try was lost."""
    if existing.id != new.id:
        return Inserted(created=False, snapshot=existing)
    claim = new.claimed(sending=False) if existing.status is Status.IN_PROGRESS else None
    return Inserted(created=True, snapshot=existing, claim=claim)


def claim_of(row: Any) -> Claim:
    return Claim(
        id=DeliveryId(row[0]),
        fence=row[1],
        channel=row[2],
        intent=Intent(row[3]),
        address=row[4],
        thread=row[5],
        message=row[6],
        subject=row[7],
        emoji=row[8],
        origin_butler=row[9],
        order_key=row[10],
        request_id=row[11],
        priority=Priority(PRIORITIES[row[12]]),
        on_uncertain=OnUncertain(row[13]),
        attempts=row[14],
        calls=row[15],
        parts_done=row[16],
        sending=bool(row[17]),
        possible_duplicate=bool(row[18]),
        trace_id=row[19],
        created_at_us=row[20],
    )


def snapshot_of(row: Any) -> Snapshot:
    return Snapshot(
        id=DeliveryId(row[0]),
        idempotency_key=row[1],
        fingerprint=row[2],
        request_id=row[3],
        origin_butler=row[4],
        channel=row[5],
        intent=Intent(row[6]),
        status=Status(row[7]),
        attempts=row[8],
        possible_duplicate=bool(row[9]),
        not_before_us=row[10],
        waiting_reason=row[11],
        provider_delivery_id=row[12],
        failure=Failure(ErrorClass(row[13]), row[14] or "") if row[13] else None,
    )


def settle_values(done: Settlement) -> tuple[Any, ...]:
    """In the order of the settle statements: what changes, then which row."""
    final = done.status in TERMINAL
    failure = done.failure if final else None
    return (
        str(done.status),
        done.attempts,
        done.claim.calls + (1 if done.attempt else 0),
        done.possible_duplicate,
        done.not_before_us,
        done.waiting_reason,
        str(failure.error_class) if failure else None,
        failure.message if failure else None,
        done.receipt,
        done.at_us,
        done.at_us if final else None,
        done.claim.id,
        done.claim.fence,
    )


def attempt_values(done: Settlement) -> tuple[Any, ...] | None:
    attempt = done.attempt
    if attempt is None:
        return None
    failure = attempt.failure
    return (
        done.claim.id,
        done.claim.calls + 1,
        attempt.started_at_us,
        attempt.completed_at_us,
        attempt.latency_ms,
        str(attempt.outcome),
        str(failure.error_class) if failure else None,
        failure.message if failure else None,
        done.receipt,
    )


def dead_letter_values(done: Settlement) -> tuple[Any, ...] | None:
    if done.quarantine is None:
        return None
    return (
        done.quarantine.id,
        done.claim.id,
        str(done.quarantine.reason),
        str(done.failure.error_class) if done.failure else None,
        done.failure.message if done.failure else None,
        done.attempts,
        done.at_us,
    )


def refusal_values(refusal: Refusal) -> tuple[Any, ...]:
    return (
        refusal.id,
        refusal.idempotency_key,
        refusal.request_id,
        refusal.origin_butler,
        refusal.channel,
        str(refusal.intent),
        refusal.target_identity,
        str(refusal.failure.error_class),
        refusal.failure.message,
        refusal.limit_type,
        refusal.failure.retry_after_seconds,
        refusal.trace_id,
        refusal.created_at_us,
    )


def latest_fences(claims: Iterable[Claim]) -> dict[str, int]:
    """Fences only grow: of several claims on one delivery in a batch, only the newest can be the valid one."""
    fences: dict[str, int] = {}
    for claim in claims:
        fences[claim.id] = max(claim.fence, fences.get(claim.id, 0))
    return fences
