"""What happens to questions, as it happens: server-sent events for those who may see them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import APIRouter, Header, Query
from fastapi.responses import StreamingResponse

from postroom.kernel.guard.http import Caller
from postroom.kernel.running.clock import Clock
from postroom.kernel.running.loop import Signal
from postroom.kernel.serving.json_door import End, EventStream, JsonRoute, StreamEvent, failures
from postroom.kernel.values.errors import Code, Refused, StoreUnavailable
from postroom.kernel.values.principal import Principal, person_id_of
from postroom.questions.model import QuestionEvent, QuestionEventType
from postroom.questions.questions import Asking
from postroom.questions.shapes import QuestionView, shown_body
from postroom.questions.store.questions import StoredQuestions

_LINES_AT_A_TIME: Final = 100
_LOOK_AGAIN_SECONDS: Final = 2.0  # another process may have news that rings nothing here
_Since = Annotated[str | None, Query(max_length=64, description="`cursor` of the page before.")]
_LastEventId = Annotated[str | None, Header(alias="Last-Event-ID", max_length=64)]


_SHOWN: Final = frozenset(QuestionEventType) - {QuestionEventType.REMINDED, QuestionEventType.ESCALATED}


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedLine:
    """One event, and the question as it is when it is read; without a view it is none of the reader's."""

    position: int
    type: QuestionEventType
    view: QuestionView | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionFeed:
    asking: Asking
    lines: StoredQuestions

    async def newest(self) -> int:
        return await self.lines.last_position()

    async def since(self, reader: Principal, position: int) -> Sequence[FeedLine]:
        """In the order of commits; an agent reads of its own questions, a person of theirs, the owner of all."""
        only = str(reader) if person_id_of(reader) is None else None
        found = await self.lines.events(since=position, limit=_LINES_AT_A_TIME, asker=only)
        return [FeedLine(position=one.position, type=one.type, view=await self._view(reader, one)) for one in found]

    async def _view(self, reader: Principal, event: QuestionEvent) -> QuestionView | None:
        if event.type not in _SHOWN:
            return None
        try:
            return await self.asking.read(reader, event.question_id)
        except Refused as error:
            if error.code is not Code.NOT_FOUND:
                raise
            return None


def stream_router(feed: QuestionFeed, signal: Signal, clock: Clock) -> APIRouter:
    """`signal` rings with every change of a question."""
    router = APIRouter(route_class=JsonRoute, tags=["asks"], responses=failures(400, 401, 403, 404, 413, 422, 503))

    @router.get(
        "/v1/asks/stream",
        operation_id="streamAsks",
        summary="What happens to questions, as it happens",
        description="`ask.opened`, `ask.revised`, `ask.answered`, `ask.declined`, `ask.expired`, `ask.cancelled` and "
        "`ask.superseded`, each with the question; of your own, and as a person of those that ask you.",
        response_class=StreamingResponse,
    )
    async def streamed(caller: Caller, last_event_id: _LastEventId = None, since: _Since = None) -> StreamingResponse:
        position = _read_position(last_event_id or since)
        return await _stream(feed, caller, position, signal, clock)

    return router


async def _stream(
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
                        shown = shown_body(line.view).model_dump(mode="json")
                        yield StreamEvent(name=str(line.type), id=str(at), data=shown)
        except StoreUnavailable:
            return  # the next look will do

    return EventStream(
        look=look,
        listening=nullcontext(signal),
        clock=clock,
        pause_seconds=_LOOK_AGAIN_SECONDS,
        first=StreamEvent(retry_ms=1000),
    ).response()


def _read_position(text: str | None) -> int | None:
    """None for what is no place in the feed: then the stream begins now."""
    if text and text.isascii() and text.isdecimal() and len(text) <= 18:
        return int(text)
    return None
