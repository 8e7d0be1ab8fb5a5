"""Server-sent events that end by themselves."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final

from fastapi.responses import StreamingResponse

from postroom.domain.strict_json import strict_json
from postroom.domain.time import seconds
from postroom.ports import Clock
from postroom.system.signal import Signal

_LOOK_AGAIN_SECONDS: Final = 2.0  # another process may have news that rings nothing here

Frame = tuple[str, str, dict[str, Any]]  # event, id, data
Fetch = Callable[[], Awaitable[tuple[list[Frame], bool]]]  # what is new, and whether nothing more will come


def stream(fetch: Fetch, signal: Signal, clock: Clock, wait_seconds: float) -> StreamingResponse:
    return StreamingResponse(
        _frames(fetch, signal, clock, wait_seconds),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _frames(fetch: Fetch, signal: Signal, clock: Clock, wait_seconds: float) -> AsyncIterator[str]:
    """News as it comes; `stream.end` when there can be no more, `stream.timeout` when the time is up."""
    until = clock.now_us() + seconds(wait_seconds)
    while True:
        news = signal.news()
        frames, ended = await fetch()
        for event, frame_id, data in frames:
            yield _frame(event, data, frame_id)
        if ended:
            yield _frame("stream.end", {})
            return
        if clock.now_us() >= until or signal.is_closed:
            yield _frame("stream.timeout", {})
            return
        await clock.wait(news, min(until, clock.now_us() + seconds(_LOOK_AGAIN_SECONDS)))


def _frame(event: str, data: dict[str, Any], frame_id: str | None = None) -> str:
    head = f"id: {frame_id}\n" if frame_id else ""
    return f"{head}event: {event}\ndata: {strict_json(data, ensure_ascii=False)}\n\n"
