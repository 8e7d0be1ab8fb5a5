"""The switchboard's log: a row when a call comes in, its last words when it is answered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from opentelemetry import trace
from sqlalchemy import BigInteger, Connection, bindparam, insert, update

from postroom.domain.errors import StoreUnavailable
from postroom.domain.fields import text_problem
from postroom.store.coalescer import Coalescer
from postroom.store.database import Database
from postroom.store.tables.notifications_log import notifications_log

_RECEIVED = "received"
_columns = notifications_log.c
_OPEN: Final[Any] = insert(notifications_log)
_CLOSE: Final[Any] = (
    update(notifications_log)
    .where(_columns.id == bindparam("row_id"))
    .values(
        status=bindparam("new_status"),
        delivery_id=bindparam("new_delivery_id"),
        error_class=bindparam("new_error_class"),
        error_message=bindparam("new_error_message"),
        duration_ms=(bindparam("closed_at", type_=BigInteger) - _columns.created_at) / 1000.0,
    )
)

Line = tuple[Any, Mapping[str, Any]]  # one of the two statements, and its values


class StoredNotificationsLog:
    def __init__(self, database: Database, mint: Callable[[int], str]) -> None:
        self._database = database
        self._mint = mint
        self._lines: Coalescer[Line, None] = Coalescer(self._write)
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
        await self._lines.submit((_OPEN, row))
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
        words = {
            "row_id": row_id,
            "new_status": str(answer.get("status")),
            "new_delivery_id": delivery.get("delivery_id"),
            "new_error_class": error.get("class"),
            "new_error_message": error.get("message"),
            "closed_at": now_us,
        }
        try:
            await self._lines.submit((_CLOSE, words))
        except StoreUnavailable:
            return  # the row says `received`; the delivery's own record says the rest

    async def _write(self, lines: Sequence[Line]) -> Sequence[None]:
        """What waits together is one transaction; a row is opened before it is closed."""

        def work(connection: Connection) -> None:
            for statement in (_OPEN, _CLOSE):
                if rows := [row for kind, row in lines if kind is statement]:
                    connection.execute(statement, rows)

        await self._database.write(work)
        return [None] * len(lines)


def _trace_id() -> str | None:
    context = trace.get_current_span().get_span_context()
    return trace.format_trace_id(context.trace_id) if context.is_valid else None


def _word(value: object, most: int = 32) -> str | None:
    """A short text from an envelope that may be anything at all."""
    return value[:most] if isinstance(value, str) and not text_problem(value) else None
