"""What happens to questions as server-sent events, to be taken up again where an earlier stream stopped."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import nullcontext
from typing import Final

from starlette.responses import StreamingResponse

from postroom.domain.clock import Clock
from postroom.domain.errors import StoreUnavailable
from postroom.domain.principal import Principal
from postroom.doors.asks.render import shown
from postroom.doors.guard.event_stream import End, EventStream, StreamEvent
from postroom.system.signal import Signal
from postroom.work.questions.feed import QuestionFeed

_LOOK_AGAIN_SECONDS: Final = 2.0  # another process may have news that rings nothing here


def read_position(text: str | None) -> int | None:
    """None for what is no place in the feed: then the stream begins now."""
    if text and text.isascii() and text.isdecimal() and len(text) <= 18:
        return int(text)
    return None


async def stream(
    feed: QuestionFeed, reader: Principal, position: int | None, signal: Signal, clock: Clock
) -> StreamingResponse:
    """Where it begins is fixed before the first byte is sent."""
    at = await feed.newest() if position is None else position

    async def look(_: Signal) -> AsyncGenerator[StreamEvent | End, None]:
        nonlocal at
        try:
            while lines := await feed.since(reader, at):
                for line in lines:
                    at = line.position
                    if line.view is not None:
                        yield StreamEvent(name=str(line.type), id=str(at), data=shown(line.view))
        except StoreUnavailable:
            return  # the next look will do

    return EventStream(
        look=look,
        listening=nullcontext(signal),
        clock=clock,
        pause_seconds=_LOOK_AGAIN_SECONDS,
        first=StreamEvent(retry_ms=1000),
    ).response()
