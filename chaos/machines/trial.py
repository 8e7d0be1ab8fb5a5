"""One trial: machines under load with questions, something that goes wrong, and the count at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from chaos.machines.counted import Counted
from chaos.machines.load import Load, load
from chaos.machines.site import Site, Stand
from chaos.questions.phone import Phone, is_pressable
from chaos.questions.reading import way_back
from chaos.scenario import Result, expectations

_LOOK_SECONDS: Final = 0.5
_QUESTION_SECONDS: Final = 360.0
_SETTLE_SECONDS: Final = 180.0
_PROVIDER_SECONDS: Final = 0.3  # of each call, so that every machine has some under way

Happening = Callable[["Trial"], Awaitable[None]]


class Trial:
    def __init__(self, place: Site, callers: Load, group: asyncio.TaskGroup, more: int) -> None:
        self.place = place
        self.load = callers
        self.tokens: list[str] = []
        self.complaints: list[str] = []
        self._group = group
        self._more = more

    async def goes_on(self) -> None:
        """So many more messages are taken in."""
        await self.load.reach(self._more)

    def ask(self, number: int, doors: tuple[Stand, Stand], **more: object) -> None:
        """From now on, in the background."""
        for _ in range(number):
            token = f"q{len(self.tokens)}"
            self.tokens.append(token)
            by_phone = len(self.tokens) % 2 == 0
            self._group.create_task(self._question(token, doors, by_phone=by_phone, **more))

    async def _question(self, token: str, doors: tuple[Stand, Stand], **more: object) -> None:
        async with asyncio.timeout(_QUESTION_SECONDS):
            await self.load.question(token, doors, **more)  # type: ignore[arg-type]


async def trial(place: Site, happening: Happening, *, more: int, note: str) -> Result:
    """The machines are up; afterwards they are stopped, and what they did is counted."""
    await slow_provider(place)
    async with load(place) as callers, asyncio.TaskGroup() as group:
        one = Trial(place, callers, group, more)
        await one.goes_on()
        await happening(one)
        await one.goes_on()
    await place.rig.provider.clear_faults()
    await place.quiet(_SETTLE_SECONDS)
    await _closed(place, one.tokens)
    ends = await place.stop()
    messages, unknown = await place.compare()
    questions = await way_back(place.rig, dict.fromkeys(one.tokens))
    return Result(
        comparison=Counted(messages=messages, questions=questions),
        note=f"{note}; {callers.repeated} calls repeated, {unknown} outcomes unknown",
        complaints=(
            *one.complaints,
            *ends,
            *expectations(
                (messages.accepted == callers.accepted, "an answer is not in the journal"),
                (messages.held == messages.failed == 0, f"{messages.held} held, {messages.failed} failed"),
                (questions.answered == questions.asked, "a question has no answer"),
            ),
        ),
    )


async def slow_provider(place: Site) -> None:
    await place.rig.provider.arm("telegram", times=-1, delay_seconds=_PROVIDER_SECONDS)


async def _closed(place: Site, tokens: list[str]) -> None:
    """Until no card asks on, or the time is over: the count then says which does."""
    phone, until = Phone(place.rig.provider), asyncio.get_running_loop().time() + _SETTLE_SECONDS
    while asyncio.get_running_loop().time() < until:
        cards = [card for token in tokens for card in await phone.cards(token)]
        if not any(is_pressable(card) or "answered by" not in card["text"] for card in cards):
            return
        await asyncio.sleep(_LOOK_SECONDS)
