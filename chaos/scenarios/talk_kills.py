"""kill -9 around every step from a person's message to its answer, and anywhere; each message is written once."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

from chaos.class_points import SENDING
from chaos.crash_points import CrashPlan, Point
from chaos.mortal_house import MortalHouse
from chaos.questions.phone import CHAT
from chaos.questions.steps import after, before
from chaos.rig import Rig
from chaos.scenario import About, Result, Scenario, World
from chaos.talks.reading import STRANGER, Written, open_work, talks
from chaos.tokens import token_in
from postroom.household.store import Store, connect_store
from postroom.settings.load import load

_PARTS: Final = ("messenger", "switchboard", "general")
_SECONDS: Final = 60.0
_LOOK_SECONDS: Final = 0.03
_ENOUGH_SECONDS: Final = 40.0  # of rounds, for each database
_SOON_SECONDS: Final = 1.2


def _around(*calls: str) -> list[str]:
    return [when(call) for call in calls for when in (before, after)]


MOMENTS: Final = [
    *_around("keep", "decide", "save_offset", "session", "hand_over", "begin"),
    *SENDING,
    *_around("end", "answer"),
]
SHORT: Final = [after("keep"), after("begin"), str(Point.AFTER_INSERT), str(Point.AFTER_SEND)]
SHORT_POSTGRES: Final = [after("decide"), after("end")]


class Person:
    """Writes to the bot, and remembers it; so does a stranger."""

    def __init__(self, rig: Rig) -> None:
        self._rig = rig
        self.written: list[Written] = []

    async def write(self, how: str, chat: str = CHAT) -> str:
        return await self.write_as(self.next_token(), how, chat)

    def next_token(self) -> str:
        return f"t{next(self._rig.numbers)}"

    async def write_as(self, token: str, how: str, chat: str = CHAT) -> str:
        body = {"chat_id": chat, "text": f"/general #{token}/1# {how}"}
        answer = await self._rig.provider.call("POST", "/sandbox/telegram/inbound", body)
        self.written.append(Written(token=token, chat=chat, message_id=int(answer["message_id"])))
        return token


class Talking:
    def __init__(self, rig: Rig, store: Store) -> None:
        self._rig = rig
        self._store = store
        self.person = Person(rig)
        self.house = MortalHouse(rig, _PARTS)

    async def at(self, point: str, turn: int) -> None:
        """Two messages, of which one kills, and a stranger's; the process takes up what the last one left, first."""
        token, how = self.person.next_token(), _how(point, turn)
        other = ("reply", "words", "fail")[turn % 3]
        during = point == Point.DURING_SEND
        await self.house.start(None if during else CrashPlan(point=point, token=token))
        await self.settled()
        if during:
            await self._rig.provider.arm("telegram", delay_seconds=_SECONDS)
        if turn % 2 and not during:
            await self.person.write(other)
        await self.person.write_as(token, how)
        if not turn % 2 or during:
            await self.person.write(other)
        await self.person.write("reply", STRANGER)
        if during:
            await self._arrived(token)
            await self.house.kill()
            await self._rig.provider.clear_faults()
        else:
            await self.house.died()

    async def anywhere(self, kills: int) -> None:
        for turn in range(kills):
            await self.house.start()
            for how in ("reply", "words", "slow", "fail")[turn % 4 :]:
                await self.person.write(how)
                await asyncio.sleep(self._rig.dice.uniform(0.0, 0.2))
            await self.person.write("reply", STRANGER)
            await asyncio.sleep(self._rig.dice.uniform(0.0, _SOON_SECONDS))
            await self.house.kill()

    async def last(self) -> None:
        await self.house.start()
        await self.settled()

    async def settled(self) -> None:
        deadline = time.monotonic() + _SECONDS
        while left := await open_work(self._store, self.person.written):
            if time.monotonic() > deadline:
                raise RuntimeError(f"{left} things are still to be done\n{self.house.said()[-2_000:]}")
            await asyncio.sleep(_LOOK_SECONDS)

    async def _arrived(self, token: str) -> None:
        async with asyncio.timeout(_SECONDS):
            while token not in {token_in(one["text"]) for one in await self._rig.provider.listed("telegram")}:
                await asyncio.sleep(_LOOK_SECONDS)


def _how(point: str, turn: int) -> str:
    """A session that is over before it was looked at is never seen running."""
    return "slow" if point in _around("begin") else ("reply", "words")[turn % 2]


@asynccontextmanager
async def _talking(world: World, database: str, name: str) -> AsyncIterator[tuple[Rig, Store, Talking]]:
    open_rig = world.sqlite if database == "sqlite" else world.postgres
    async with open_rig(name) as plain:
        rig = plain.having(conversations__sessions_per_day="100000")
        settings, _ = load(rig.environment)
        store = connect_store(settings)
        talking = Talking(rig, store)
        try:
            yield rig, store, talking
        finally:
            talking.house.end()
            await store.database.close()


async def talk_kills(world: World, database: str) -> Result:
    most_rounds, enough = world.sized(4, 1), time.monotonic() + _ENOUGH_SECONDS
    turns = itertools.count()
    async with _talking(world, database, "talk kill") as (rig, store, talking):
        for number in range(most_rounds):
            if number and time.monotonic() > enough:
                break
            for point in _moments(world, database):
                await talking.at(point, next(turns))
        await talking.last()
        found = await talks(rig, store, talking.person.written)
    return Result(comparison=found, note=f"{talking.house.kills} kills")


def _moments(world: World, database: str) -> Sequence[str]:
    if not world.short:
        return MOMENTS
    return SHORT if database == "sqlite" else SHORT_POSTGRES


async def talk_anywhere(world: World, database: str) -> Result:
    async with _talking(world, database, "talk anywhere") as (rig, store, talking):
        await talking.anywhere(world.sized(30, 2))
        await talking.last()
        found = await talks(rig, store, talking.person.written)
    return Result(comparison=found, note=f"{talking.house.kills} kills")


def _scenarios(database: str) -> list[Scenario]:
    return [
        Scenario(
            name=f"talk-kill-{database}",
            what=f"kill -9 at each of {len(MOMENTS)} steps from a message to its answer, {database}",
            run=partial(talk_kills, database=database),
            about=About.TALKS,
            about_seconds=80.0,
        ),
        Scenario(
            name=f"talk-anywhere-{database}",
            what=f"kill -9 anywhere while people write, {database}",
            run=partial(talk_anywhere, database=database),
            in_short=False,
            about=About.TALKS,
            about_seconds=80.0,
        ),
    ]


SCENARIOS: Final = [one for database in ("sqlite", "postgres") for one in _scenarios(database)]
