"""Follows the feed of questions from where it was, over every restart."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from postroom.domain.clock import Clock
from postroom.domain.errors import OverloadRejected
from postroom.domain.question_change import QuestionEvent
from postroom.domain.time import seconds
from postroom.work.questions.listening import Marks
from postroom.work.questions.records import EventFeed

FOLLOW_SECONDS: Final = 2.0  # how soon what another process committed is seen
_AT_A_TIME: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Follower:
    """Its place is saved after a page was taken, so an event may be taken twice and none is left out."""

    name: str
    feed: EventFeed
    marks: Marks
    take: Callable[[QuestionEvent], Awaitable[None]]
    clock: Clock

    async def look(self) -> int:
        """One page of the feed; answers when to look again."""
        events = await self.feed.events(since=await self.marks.offset(self.name) or 0, limit=_AT_A_TIME)
        try:
            for event in events:
                await self.take(event)
        except OverloadRejected as busy:
            return self.clock.now_us() + seconds(max(FOLLOW_SECONDS, busy.retry_after_seconds or 0))
        if events:
            await self.marks.save_offset(self.name, events[-1].position)
        return self.clock.now_us() + (0 if len(events) == _AT_A_TIME else seconds(FOLLOW_SECONDS))
