"""Calls of the switchboard that led to nothing: one row each, so that a trace knows of them."""

from __future__ import annotations

from collections.abc import Callable

from opentelemetry import trace
from sqlalchemy import insert

from postroom.domain.fields import text_problem
from postroom.domain.ledger import RefusedCall
from postroom.world.store.engine.database import Database
from postroom.world.store.tables.deliveries import delivery_refusals


class StoredRefusedCalls:
    """Beside what the messenger's limits refuse and it notes itself; these rows name no limit."""

    def __init__(self, database: Database, mint: Callable[[int], str]) -> None:
        self._database = database
        self._mint = mint

    async def note(self, call: RefusedCall) -> None:
        values = {
            "id": self._mint(call.at_us),
            "idempotency_key": "",
            "request_id": _word(call.request_id, 128),
            "origin_butler": call.source,
            "channel": _word(call.channel, 32),
            "intent": _word(call.intent, 32),
            "target_identity": "",
            "error_class": str(call.failure.error_class),
            "error_message": _sentence(call.failure.message),
            "trace_id": _trace_id(),
            "created_at": call.at_us,
            "handed_by": "switchboard",
        }
        await self._database.write(lambda connection: connection.execute(insert(delivery_refusals), values))


def _trace_id() -> str | None:
    context = trace.get_current_span().get_span_context()
    return trace.format_trace_id(context.trace_id) if context.is_valid else None


def _word(value: object, most: int) -> str:
    """A short text from an envelope that may be anything at all."""
    return value[:most] if isinstance(value, str) and not text_problem(value) else ""


def _sentence(value: str) -> str:
    """What was answered, even where it repeats something that no database can hold."""
    return value.encode("utf-8", "backslashreplace").decode().replace("\x00", "\\x00")
