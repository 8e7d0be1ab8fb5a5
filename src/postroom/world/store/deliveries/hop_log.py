"""The switchboard's log: a row when a call comes in, its last words when it is answered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from opentelemetry import trace

from postroom.domain.fields import text_problem
from postroom.domain.hop import Hop
from postroom.domain.outcome import Outcome
from postroom.world.store.deliveries.hop_lines import Line, Row, sorted_out
from postroom.world.store.deliveries.hop_log_statements import write_lines
from postroom.world.store.engine.along import Along
from postroom.world.store.engine.coalescer import Coalescer
from postroom.world.store.engine.database import Database

_RECEIVED = "received"
_ABANDONED = "abandoned"
_OPEN, _CLOSE = True, False
_DELIVERY_SECONDS = 0.05  # longer than it takes from here to the delivery's own row, even in a crowd
_LAST_WORDS_SECONDS = 0.05  # nobody waits for them, so they are written with the next call's first ones


class StoredNotificationsLog:
    """`lost` hears of every row, first words or last, that could not be written."""

    def __init__(self, database: Database, mint: Callable[[int], str], lost: Callable[[BaseException], None]) -> None:
        self._database = database
        self._mint = mint
        self._lost = lost
        self._lines: Coalescer[Line, None] = Coalescer(self._write)
        self._closing: set[asyncio.Future[None]] = set()
        self._goes_along = False

    def go_along(self) -> None:
        """From now on with the deliveries that are stored through the same database, as far as there are any."""
        self._database.along, self._goes_along = Along(self._lines.take, self._lines.put_back), True

    def hurry(self) -> None:
        """No delivery will take along what waits."""
        self._lines.hurry()

    def opened(self, hop: Hop, *, now_us: int) -> tuple[str, asyncio.Future[None]]:
        """The row's id, and what to wait for until it is on disk."""
        row_id = self._mint(now_us)
        row = (
            row_id,
            _word(hop.request_id, 128) or "",
            hop.source_butler,
            hop.caller,
            _word(hop.channel),
            _word(hop.intent),
            _RECEIVED,
            _trace_id(),
            0.0,
            now_us,
        )
        written = self._lines.put((_OPEN, row), patience_seconds=_DELIVERY_SECONDS if self._goes_along else 0.0)
        written.add_done_callback(self._look)
        return row_id, written

    def closed(self, row_id: str, outcome: Outcome, *, now_us: int) -> None:
        """Written behind the answer; `flush` waits for what is still on its way."""
        self._close(_last_words(row_id, outcome, now_us))

    def _close(self, row: Row) -> None:
        written = self._lines.put((_CLOSE, row), patience_seconds=_LAST_WORDS_SECONDS)
        self._closing.add(written)
        written.add_done_callback(self._closing.discard)
        written.add_done_callback(self._look)

    def abandoned(self, row_id: str, written: asyncio.Future[None], *, now_us: int) -> None:
        """Whoever called did not wait for the answer; what became of the message, its delivery tells."""
        self.hurry()
        written.add_done_callback(lambda _: self._close((row_id, _ABANDONED, None, None, None, now_us)))

    async def flush(self) -> None:
        if self._closing:
            self._lines.hurry()
            await asyncio.wait(self._closing, timeout=5)

    def _look(self, written: asyncio.Future[None]) -> None:
        """Without its last words a row says `received`; the delivery's own record says the rest."""
        if not written.cancelled() and (error := written.exception()):
            self._lost(error)

    async def _write(self, lines: Sequence[Line]) -> Sequence[None]:
        await write_lines(self._database, sorted_out(lines))
        return [None] * len(lines)


def _last_words(row_id: str, outcome: Outcome, now_us: int) -> Row:
    error = outcome.error
    return (
        row_id,
        str(outcome.status),
        outcome.delivery_id,
        str(error.error_class) if error else None,
        _sentence(error.message) if error else None,
        now_us,
    )


def _trace_id() -> str | None:
    context = trace.get_current_span().get_span_context()
    return trace.format_trace_id(context.trace_id) if context.is_valid else None


def _word(value: object, most: int = 32) -> str | None:
    """A short text from an envelope that may be anything at all."""
    return value[:most] if isinstance(value, str) and not text_problem(value) else None


def _sentence(value: str) -> str:
    """What was answered, even where it repeats something that no database can hold."""
    return value.encode("utf-8", "backslashreplace").decode().replace("\x00", "\\x00")
