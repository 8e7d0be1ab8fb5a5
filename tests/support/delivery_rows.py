"""Rows of the ledger, written straight into a database."""

from __future__ import annotations

from typing import Any

from sqlalchemy import insert

from postroom.delivery.store.tables import delivery_attempts, delivery_requests
from postroom.kernel.database.engine import Database
from postroom.kernel.values.ids import IdMint

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
