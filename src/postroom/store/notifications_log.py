"""The switchboard's log: a row when a call comes in, its last words when it is answered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from opentelemetry import trace
from sqlalchemy import Connection, insert, update

from postroom.domain.errors import StoreUnavailable
from postroom.domain.fields import text_problem
from postroom.store.database import Database
from postroom.store.tables.notifications_log import notifications_log

_RECEIVED = "received"


class StoredNotificationsLog:
    def __init__(self, database: Database, mint: Callable[[int], str]) -> None:
        self._database = database
        self._mint = mint
        self._closing: set[asyncio.Task[None]] = set()

    async def opened(
        self, *, request_id: str, source_butler: str, caller: str, envelope: Mapping[str, Any], now_us: int
    ) -> str:
        row_id = self._mint(now_us)
        delivery = envelope.get("delivery")
        delivery = delivery if isinstance(delivery, Mapping) else {}
        row = {
            "id": row_id,
            "request_id": _word(request_id, 128) or "",
            "source_butler": source_butler,
            "caller": caller,
            "channel": _word(delivery.get("channel")),
            "intent": _word(delivery.get("intent")),
            "status": _RECEIVED,
            "trace_id": _trace_id(),
            "duration_ms": 0.0,
            "created_at": now_us,
        }
        await self._database.write(lambda connection: _execute(connection, insert(notifications_log), row))
        return row_id

    async def closed(self, row_id: str, answer: Mapping[str, Any], *, now_us: int) -> None:
        """Written behind the answer; `flush` waits for what is still on its way."""
        task = asyncio.create_task(self._close(row_id, dict(answer), now_us))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def flush(self) -> None:
        if self._closing:
            await asyncio.wait(self._closing, timeout=5)

    async def _close(self, row_id: str, answer: dict[str, Any], now_us: int) -> None:
        error = answer.get("error")
        error = error if isinstance(error, dict) else {}
        delivery = answer.get("delivery") or {}
        table = notifications_log.c
        changed = (
            update(notifications_log)
            .where(table.id == row_id)
            .values(
                status=str(answer.get("status")),
                delivery_id=delivery.get("delivery_id"),
                error_class=error.get("class"),
                error_message=error.get("message"),
                duration_ms=(now_us - table.created_at) / 1000.0,
            )
        )
        try:
            await self._database.write(lambda connection: _execute(connection, changed))
        except StoreUnavailable:
            return  # the row says `received`; the delivery's own record says the rest


def _execute(connection: Connection, statement: Any, row: Mapping[str, Any] | None = None) -> None:
    connection.execute(statement, row or {})


def _trace_id() -> str | None:
    context = trace.get_current_span().get_span_context()
    return trace.format_trace_id(context.trace_id) if context.is_valid else None


def _word(value: object, most: int = 32) -> str | None:
    """A short text from an envelope that may be anything at all."""
    return value[:most] if isinstance(value, str) and not text_problem(value) else None
