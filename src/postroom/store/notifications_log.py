"""The switchboard's log: a row when a call comes in, its last words when it is answered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opentelemetry import trace

from postroom.domain.errors import StoreUnavailable
from postroom.domain.fields import text_problem
from postroom.store.coalescer import Coalescer
from postroom.store.database import Database
from postroom.store.notifications_log_statements import Row, write_lines

_RECEIVED = "received"
_OPEN, _CLOSE = True, False

Line = tuple[bool, Row]


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
        row = (
            row_id,
            _word(request_id, 128) or "",
            source_butler,
            caller,
            _word(delivery.get("channel")),
            _word(delivery.get("intent")),
            _RECEIVED,
            _trace_id(),
            0.0,
            now_us,
        )
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
        words = (
            row_id,
            str(answer.get("status")),
            delivery.get("delivery_id"),
            error.get("class"),
            _sentence(error.get("message")),
            now_us,
        )
        try:
            await self._lines.submit((_CLOSE, words))
        except StoreUnavailable:
            return  # the row says `received`; the delivery's own record says the rest

    async def _write(self, lines: Sequence[Line]) -> Sequence[None]:
        opened, closed = ([row for kind, row in lines if kind is wanted] for wanted in (_OPEN, _CLOSE))
        await write_lines(self._database, opened, closed)
        return [None] * len(lines)


def _trace_id() -> str | None:
    context = trace.get_current_span().get_span_context()
    return trace.format_trace_id(context.trace_id) if context.is_valid else None


def _word(value: object, most: int = 32) -> str | None:
    """A short text from an envelope that may be anything at all."""
    return value[:most] if isinstance(value, str) and not text_problem(value) else None


def _sentence(value: object) -> str | None:
    """What was answered, even where it repeats something that no database can hold."""
    if not isinstance(value, str):
        return None
    return value.encode("utf-8", "backslashreplace").decode().replace("\x00", "\\x00")
