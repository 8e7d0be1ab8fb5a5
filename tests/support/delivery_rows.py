"""Rows of the ledger, written straight into a database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import insert

from postroom.delivery.reading.record import CallMade, WholeDelivery
from postroom.delivery.store.rows import waiting_of
from postroom.delivery.store.tables import delivery_attempts, delivery_requests
from postroom.kernel.database.engine import Database
from postroom.kernel.values.ids import DeliveryId, IdMint
from postroom.message.delivery import AttemptResult, Format, Intent, OnUncertain, Priority, Status

NOON_US = 1_767_268_800_000_000  # 2026-01-01T12:00:00Z
_mint = IdMint()


def new_id(at_us: int = NOON_US) -> str:
    return _mint.mint(at_us)


def request_row(at_us: int = NOON_US, **changes: Any) -> dict[str, Any]:
    row_id = changes.pop("id", None) or new_id(at_us)
    return {
        "id": row_id,
        "idempotency_key": f"key of {row_id}",
        "fingerprint": "f",
        "request_id": f"request of {row_id}",
        "origin_butler": "health",
        "channel": "telegram",
        "intent": "send",
        "target_identity": "1000",
        "address": "1000",
        "thread": None,
        "order_key": f"telegram:{row_id}",
        "message_content": "hello",
        "subject": None,
        "emoji": None,
        "request_envelope": "{}",
        "priority": 1,
        "on_uncertain": "resend",
        "status": "delivered",
        "attempts": 1,
        "calls": 1,
        "parts_done": 0,
        "turn": 0,
        "fence": 1,
        "sending": False,
        "possible_duplicate": False,
        "not_before": at_us,
        "lease_until": None,
        "waiting_reason": None,
        "waiting_detail": None,
        "waiting_asked_seconds": None,
        "terminal_error_class": None,
        "terminal_error_message": None,
        "provider_delivery_id": None,
        "trace_id": None,
        "replay_of": None,
        "replay_number": None,
        "created_at": at_us,
        "updated_at": at_us,
        "terminal_at": None,
        **changes,
    }


def attempt_row(request: dict[str, Any], number: int, latency_ms: float, outcome: str = "success") -> dict[str, Any]:
    return {
        "delivery_request_id": request["id"],
        "attempt_number": number,
        "started_at": request["created_at"],
        "completed_at": request["created_at"] + round(latency_ms * 1000),
        "latency_ms": latency_ms,
        "outcome": outcome,
        "error_class": None,
        "error_message": None,
        "provider_response": None,
    }


async def write(
    database: Database, requests: list[dict[str, Any]], attempts: list[dict[str, Any]] | None = None
) -> None:
    def work(connection: Any) -> None:
        connection.execute(insert(delivery_requests), requests)
        if attempts:
            connection.execute(insert(delivery_attempts), attempts)

    await database.write(work)


def waits(row: Mapping[str, Any]) -> str | None:
    """Why a row of deliveries waits, as callers are told."""
    waiting = waiting_of(row["waiting_reason"], row["waiting_detail"], row["waiting_asked_seconds"])
    return waiting.words(row["channel"]) if waiting else None


def a_delivery(**changes: Any) -> WholeDelivery:
    """As the ledger is read: delivered over telegram, at NOON_US."""
    values: dict[str, Any] = {
        "delivery_id": DeliveryId("me"),
        "request_id": "the request",
        "origin_butler": "health",
        "channel": "telegram",
        "intent": Intent.SEND,
        "target_identity": "1000",
        "status": Status.DELIVERED,
        "priority": Priority.MEDIUM,
        "attempts": 0,
        "possible_duplicate": False,
        "waiting": None,
        "provider_delivery_id": None,
        "terminal_error_class": None,
        "terminal_error_message": None,
        "replay_of": None,
        "replay_number": None,
        "created_at_us": NOON_US,
        "updated_at_us": NOON_US,
        "terminal_at_us": None,
        "idempotency_key": "key",
        "on_uncertain": OnUncertain.RESEND,
        "not_before_us": NOON_US,
        "address": "1000",
        "thread": None,
        "message_content": "hello",
        "subject": None,
        "emoji": None,
        "request_envelope": {},
        "calls": 0,
        "parts_done": 0,
        "trace_id": None,
        "doubtful_since_us": None,
        "format": Format.PLAIN,
        "attachments": (),
        "revises": None,
        "handed_by": None,
    }
    return WholeDelivery(**values | changes)


def a_call(outcome: AttemptResult, message: str | None = None, **changes: Any) -> CallMade:
    values: dict[str, Any] = {
        "attempt_number": 1,
        "started_at_us": NOON_US,
        "completed_at_us": NOON_US,
        "latency_ms": 12.0,
        "outcome": outcome,
        "error_class": "timeout" if message else None,
        "error_message": message,
    }
    return CallMade(**values | changes)
