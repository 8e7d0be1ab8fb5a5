"""What a provider brings us by itself, read from where it was stored and handed over as if we had asked for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

from postroom.domain.errors import PostroomError, TargetUnavailable
from postroom.domain.inbound_message import Listened
from postroom.domain.ports import Clock, TakesPushes
from postroom.domain.push_state import PushState
from postroom.domain.time import seconds
from postroom.system.signal import Signal
from postroom.work.conversations.inbound import Handler, hand_over

_MOST: Final = 100
_STATE_SECONDS: Final = 10.0
_LOOK_SECONDS: Final = 0.5  # what another process stored rings no bell here
_UNDER_WAY_SECONDS: Final = 1.0

Updates = Sequence[tuple[int, Mapping[str, Any]]]


class KeptPushes(Protocol):
    async def waiting(self, channel: str, limit: int) -> Updates: ...

    async def handled(self, channel: str, numbers: Sequence[int], now_us: int) -> None: ...

    async def last_us(self, channel: str) -> int: ...


@dataclass(slots=True, kw_only=True)
class PushedUpdates:
    """
    Listens, and keeps the place: what was handed out is marked when the handlers are done with it.

    Asking the provider how it fares tells whether anything is still to come, and whether it fails to reach us: then
    nothing was heard, so that what people lose meanwhile is noticed as a gap.
    """

    channel: str
    bot: TakesPushes
    store: KeptPushes
    clock: Clock
    bell: Signal
    _handed: list[int] = field(default_factory=list)

    async def offset(self, source: str) -> int | None:
        return None

    async def save_offset(self, source: str, position: int) -> None:
        await self.store.handled(self.channel, self._handed, self.clock.now_us())

    async def listen(self, position: int | None, timeout_seconds: float) -> Listened:
        state = await self._state()
        found = await self._found(_patience(state, timeout_seconds))
        if not found and isinstance(state, PostroomError):
            raise state
        self._handed = [number for number, _ in found]
        heard = await self.bot.pushed([update for _, update in found])
        everything = isinstance(state, PushState) and state.waiting == 0 and len(found) < _MOST
        return replace(heard, everything=everything)

    async def _state(self) -> PushState | PostroomError:
        try:
            state = await self.bot.push_state(_STATE_SECONDS)
        except PostroomError as error:
            return error
        if not state.fails_since(await self.store.last_us(self.channel)):
            return state
        return TargetUnavailable(f"what people write cannot be brought to our webhook: {state.error}")

    async def _found(self, timeout_seconds: float) -> Updates:
        until_us = self.clock.now_us() + seconds(timeout_seconds)
        while True:
            news = self.bell.news()
            found, now_us = await self.store.waiting(self.channel, _MOST), self.clock.now_us()
            if found or now_us >= until_us:
                return found
            await self.clock.wait(news, min(until_us, now_us + seconds(_LOOK_SECONDS)))


def _patience(state: PushState | PostroomError, timeout_seconds: float) -> float:
    """What is under way gets a moment, so that asking again and again brings nothing."""
    if isinstance(state, PostroomError):
        return 0
    return max(timeout_seconds, _UNDER_WAY_SECONDS) if state.waiting else timeout_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftPushes:
    """What was brought to us before the household went back to asking: acknowledged, so it would never come again."""

    channel: str
    bot: TakesPushes
    store: KeptPushes
    handlers: Sequence[Handler]
    clock: Clock

    async def look(self) -> int | None:
        found = await self.store.waiting(self.channel, _MOST)
        if not found:
            return None
        heard = await self.bot.pushed([update for _, update in found])
        for event in heard.events:
            await hand_over(event, self.handlers, self.channel)
        await self.store.handled(self.channel, [number for number, _ in found], self.clock.now_us())
        return self.clock.now_us()
