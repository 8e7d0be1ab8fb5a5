"""kill -9 while a message with a file is accepted and sent, and while a message is changed or taken back."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from pathlib import Path
from typing import Final

from chaos.class_points import NO_TOKEN, SENDING
from chaos.content.caller import Caller
from chaos.content.posted import Act
from chaos.content.reading import contents
from chaos.crash_points import CrashPlan, Point
from chaos.mortal_house import MortalHouse
from chaos.questions.steps import after, before
from chaos.rig import Rig
from chaos.scenario import About, Result, Scenario, World
from chaos.tokens import token_in
from chaos.worker_process import open_deliveries
from postroom.household.store import Store, connect_store
from postroom.settings.load import load

_PARTS: Final = ("messenger", "switchboard", "general", "api")
_SECONDS: Final = 60.0
_LOOK_SECONDS: Final = 0.03
_ENOUGH_SECONDS: Final = 40.0  # of rounds, for each row


def _around(*calls: str) -> list[str]:
    return [when(call) for call in calls for when in (before, after)]


MOMENTS: Final = {
    Act.FILE: [*_around("file", "upload", "claim"), *SENDING],
    Act.REVISE: [*_around("correction"), *SENDING],
    Act.RECALL: [*_around("correction"), *(point for point in SENDING if point != Point.DURING_SEND)],
}
SHORT: Final = {
    Act.FILE: [after("file"), after("upload"), str(Point.AFTER_SEND)],
    Act.REVISE: [after("correction"), str(Point.AFTER_SEND)],
    Act.RECALL: [str(Point.AFTER_INSERT)],
}


class Posting:
    def __init__(self, rig: Rig, store: Store) -> None:
        self._rig = rig
        self._store = store
        self.house = MortalHouse(rig, _PARTS)
        port = self.house.environment["POSTROOM_PORTS__API"]
        self.caller = Caller(f"http://127.0.0.1:{port}", Path(rig.environment["POSTROOM_HOME"]))
        self._call: asyncio.Task[None] | None = None

    async def at(self, point: str, act: Act) -> None:
        """The process takes up what the last one left, first; its caller still waits for an answer."""
        token, during = f"c{next(self._rig.numbers)}", point == Point.DURING_SEND
        plan = None if during else _plan(point, act, token)
        if plan is not None and plan.token == NO_TOKEN:  # it would die of what the last one left
            await self.last()
            await self.house.kill()
        await self.house.start(plan)
        await self.settled()
        if during and act is Act.FILE:
            await self._rig.provider.arm("telegram", delay_seconds=_SECONDS)
        self._call = asyncio.create_task(self.caller.send(token, act))
        if during:
            await self._shot_during_the_call(token, act)
        else:
            await self.house.died()

    async def settled(self) -> None:
        if self._call is not None:
            await self._call
        deadline = time.monotonic() + _SECONDS
        while left := await open_deliveries(self._store):
            if time.monotonic() > deadline:
                raise RuntimeError(f"{left} deliveries are still open\n{self.house.said()[-2_000:]}")
            await asyncio.sleep(_LOOK_SECONDS)

    async def last(self) -> None:
        await self.house.start()
        await self.settled()

    def end(self) -> None:
        self.house.end()
        if self._call is not None:
            self._call.cancel()

    async def _shot_during_the_call(self, token: str, act: Act) -> None:
        if act is Act.REVISE:
            await self._shown(token, "Hello.")
            await self._rig.provider.arm("telegram", delay_seconds=_SECONDS)
        await self._shown(token, "Changed." if act is Act.REVISE else "Hello.")
        await self.house.kill()
        await self._rig.provider.clear_faults()

    async def _shown(self, token: str, words: str) -> None:
        async with asyncio.timeout(_SECONDS):
            while not [one for one in await self._rig.provider.listed("telegram") if _says(one["text"], token, words)]:
                await asyncio.sleep(_LOOK_SECONDS)


def _says(text: str, token: str, words: str) -> bool:
    return token_in(text) == token and words in text


def _plan(point: str, act: Act, token: str) -> CrashPlan:
    """A correction that has been sent passes the points of a delivery a second time; a deletion has no text."""
    delivery = point in SENDING
    if act is Act.RECALL and delivery:
        return CrashPlan(point=point, token=NO_TOKEN)
    return CrashPlan(point=point, token=token, passage=2 if act is Act.REVISE and delivery else 1)


async def content_kills(world: World, database: str, acts: tuple[Act, ...]) -> Result:
    most_rounds, enough = world.sized(4, 1), time.monotonic() + _ENOUGH_SECONDS
    open_rig = world.sqlite if database == "sqlite" else world.postgres
    async with open_rig(f"content kill {acts[0]}") as rig:
        settings, _ = load(rig.environment)
        store = connect_store(settings)
        posting = Posting(rig, store)
        try:
            for number in range(most_rounds):
                if number and time.monotonic() > enough:
                    break
                for act in acts:
                    for point in (SHORT if world.short else MOMENTS)[act]:
                        await posting.at(point, act)
            await posting.last()
            found = await contents(rig, store, posting.caller.sent)
        finally:
            posting.end()
            await store.database.close()
    return Result(comparison=found, note=f"{posting.house.kills} kills")


def _scenarios(database: str) -> list[Scenario]:
    files, corrections = (Act.FILE,), (Act.REVISE, Act.RECALL)
    steps = sum(len(MOMENTS[act]) for act in corrections)
    return [
        Scenario(
            name=f"file-kill-{database}",
            what=f"kill -9 at each of {len(MOMENTS[Act.FILE])} steps of a message with a file, {database}",
            run=partial(content_kills, database=database, acts=files),
            in_short=database == "sqlite",
            about=About.CONTENT,
            about_seconds=60.0,
        ),
        Scenario(
            name=f"correction-kill-{database}",
            what=f"kill -9 at each of {steps} steps of a change and of a recall, {database}",
            run=partial(content_kills, database=database, acts=corrections),
            in_short=database == "postgres",
            about=About.CONTENT,
            about_seconds=60.0,
        ),
    ]


SCENARIOS: Final = [one for database in ("sqlite", "postgres") for one in _scenarios(database)]
