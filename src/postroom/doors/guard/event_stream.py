"""Server-sent events: writes what a door's looks yield, and ends by itself."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, aclosing
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from starlette.responses import StreamingResponse
from starlette.types import Send

from postroom.domain.clock import Clock
from postroom.domain.strict_json import strict_json
from postroom.domain.time import seconds
from postroom.system.signal import Signal

# A stream is cut now and then, so that none outlives its reader or its token for long; clients reconnect by themselves.
LIFE_SECONDS: Final = 300.0
HEARTBEAT_SECONDS: Final = 15.0
_HEARTBEAT: Final = ": still here\n\n"
_LINE_END: Final = re.compile(r"\r\n|\r|\n")

Heard = TypeVar("Heard", bound=Signal)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamEvent:
    name: str | None = None
    data: Mapping[str, Any] | str | None = None  # text as it is, anything else as one line of strict JSON
    id: str | None = None
    retry_ms: int | None = None  # after so long the client comes again when the stream has ended


class End:
    """Yielded by a look after which nothing more can come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventStream(Generic[Heard]):
    """Every look yields what is new; the next one follows when the signal rings or the pause is over."""

    look: Callable[[Heard], AsyncGenerator[StreamEvent | End, None]]
    listening: AbstractContextManager[Heard]
    clock: Clock
    life_seconds: float = LIFE_SECONDS
    pause_seconds: float = HEARTBEAT_SECONDS
    first: StreamEvent | None = None
    last: StreamEvent | None = None  # when the time is up or the house stops
    has_heartbeat: bool = True

    def response(self) -> StreamingResponse:
        return _Response(
            self.frames(),
            media_type="text/event-stream",
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        )

    async def frames(self) -> AsyncGenerator[str, None]:
        ends_us, is_quiet = self.clock.now_us() + seconds(self.life_seconds), False
        with self.listening as signal:
            if self.first:
                yield framed(self.first)
            while True:
                news = signal.news()
                async with aclosing(self.look(signal)) as found:
                    async for one in found:
                        if isinstance(one, End):
                            return
                        is_quiet = False
                        yield framed(one)
                if is_quiet and self.has_heartbeat:
                    yield _HEARTBEAT
                now_us = self.clock.now_us()
                if signal.is_closed or now_us >= ends_us:
                    break
                is_quiet = not await self.clock.wait(news, min(now_us + seconds(self.pause_seconds), ends_us))
            if self.last:
                yield framed(self.last)


def framed(event: StreamEvent) -> str:
    return "".join(f"{line}\n" for line in _lines(event)) + "\n"


def _lines(event: StreamEvent) -> Iterator[str]:
    """Of data every line for itself, so nothing a message holds can end the event or begin another."""
    if event.retry_ms is not None:
        yield f"retry: {event.retry_ms}"
    if event.id is not None:
        yield f"id: {event.id}"
    if event.name is not None:
        yield f"event: {event.name}"
    if event.data is not None:
        text = event.data if isinstance(event.data, str) else strict_json(event.data, ensure_ascii=False)
        yield from (f"data: {line}" for line in _LINE_END.split(text))


class _Response(StreamingResponse):
    """Stops listening as soon as its reader is gone, and not when the next garbage is collected."""

    def __init__(self, frames: AsyncGenerator[str, None], **about: Any) -> None:
        super().__init__(frames, **about)
        self._frames = frames

    async def stream_response(self, send: Send) -> None:
        async with aclosing(self._frames):
            await super().stream_response(send)
