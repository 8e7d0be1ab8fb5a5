"""kill -9 at every step of a question, then a start on the same data; the person answers once, whatever dies."""

from __future__ import annotations

import asyncio
import signal
import time
from functools import partial
from typing import Final

from chaos.crash_points import Point
from chaos.questions import asker_process
from chaos.questions.asker_process import QuestionJob
from chaos.questions.mailbox import Mailbox
from chaos.questions.phone import Phone
from chaos.questions.reading import way_back
from chaos.questions.steps import Moment, Phase, Way, moments
from chaos.rig import Rig
from chaos.scenario import LEASES_OVER_SECONDS, About, Result, Scenario, World

_SECONDS: Final = 40.0
_ENOUGH_SECONDS: Final = 30.0  # of rounds, for each of the four combinations


class Murders:
    """Each process begins later than the one before it ended, by its own clock, so that every lease has run out."""

    def __init__(self, rig: Rig, way: Way) -> None:
        self._rig = rig
        self._way = way
        self._phone: Phone | Mailbox = (Mailbox if way is Way.MAIL else Phone)(rig.provider)
        self._offset_seconds = 0.0
        self.kills = 0
        self.said: dict[str, str | None] = {}

    async def at(self, moment: Moment) -> None:
        number = next(self._rig.numbers)
        token, value = f"q{number}", ("yes", "no")[number % 2]
        self.said[token] = value
        person = asyncio.create_task(self._person(token, value, moment))
        await self._die(token, moment)
        await self._live(token, moment)
        await person

    async def _person(self, token: str, value: str, moment: Moment) -> None:
        await self._phone.card(token)
        if moment.point == Point.DURING_SEND and moment.phase is Phase.CLOSE:
            await self._rig.provider.arm("telegram", delay_seconds=_SECONDS)
        await self._phone.answer(token, self._way, value)

    async def _die(self, token: str, moment: Moment) -> None:
        during = moment.point == Point.DURING_SEND
        if during and moment.phase is Phase.PRESENT:
            await self._rig.provider.arm("telegram", delay_seconds=_SECONDS)
        victim = self._rig.processes.start(asker_process.main, self._job(token, moment))
        if during:
            await self._phone.card(token, "answered by" if moment.phase is Phase.CLOSE else "")
            victim.kill()
        code = await victim.ended(_SECONDS)
        if code != -signal.SIGKILL:
            raise RuntimeError(f"it did not die at {moment}: it ended with {code}\n{self._rig.last_words()}")
        self.kills += 1

    async def _live(self, token: str, moment: Moment) -> None:
        code = await self._rig.processes.start(asker_process.main, self._job(token)).ended(_SECONDS)
        if code != 0:
            words = self._rig.last_words()
            raise RuntimeError(f"after a death at {moment} the next process ended with {code}\n{words}")

    def _job(self, token: str, moment: Moment | None = None) -> QuestionJob:
        self._offset_seconds += LEASES_OVER_SECONDS
        return QuestionJob(
            environment=self._rig.environment,
            journal=self._rig.journal,
            log=self._rig.directory / "processes.log",
            token=token,
            crash=moment.plan(token) if moment else None,
            clock_offset_seconds=self._offset_seconds,
            channel=self._way.channel,
        )


async def question_kills(world: World, database: str, way: Way) -> Result:
    most_rounds, enough = world.sized(3, 1), time.monotonic() + _ENOUGH_SECONDS
    open_rig = world.sqlite if database == "sqlite" else world.postgres
    async with open_rig(f"question kill {way}") as rig:
        murders = Murders(rig, way)
        for number in range(most_rounds):
            if number and time.monotonic() > enough:
                break
            for moment in moments(way, short=world.short):
                await murders.at(moment)
        found = await way_back(rig, murders.said, way)
    return Result(comparison=found, note=f"{murders.kills} kills")


def _scenario(database: str, way: Way) -> Scenario:
    return Scenario(
        name=f"question-kill-{database}-{way}",
        what=f"kill -9 at each of {len(moments(way))} steps: answered by a {way}, {database}",
        run=partial(question_kills, database=database, way=way),
        in_short=(database, way) in {("sqlite", Way.PRESS), ("postgres", Way.REPLY), ("sqlite", Way.MAIL)},
        about=About.QUESTIONS,
        about_seconds=40.0,
    )


SCENARIOS: Final = [_scenario(database, way) for database in ("sqlite", "postgres") for way in Way]
