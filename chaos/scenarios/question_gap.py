"""We are away for longer than Telegram keeps a press: it is gone, the card says so, and the person presses again."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final

from chaos.questions import asker_process
from chaos.questions.asker_process import QuestionJob
from chaos.questions.phone import Phone
from chaos.questions.reading import way_back
from chaos.questions.steps import Moment, Phase, after
from chaos.rig import Rig
from chaos.scenario import About, Result, Scenario, World

_SECONDS: Final = 40.0
_AWAY_SECONDS: Final = 200.0  # a press lives for 150
_SHOWN: Final = Moment(phase=Phase.PRESENT, point=after("presented"))


async def question_gap(world: World, database: str) -> Result:
    open_rig = world.sqlite if database == "sqlite" else world.postgres
    said: dict[str, str | None] = {}
    async with open_rig("question gap") as rig:
        for number in range(world.sized(3, 1)):
            token = f"g{number}"
            await _missed(rig, token, 2 * number * _AWAY_SECONDS)
            said[token] = "yes"
        found = await way_back(rig, said)
    return Result(comparison=found, note=f"{len(said)} presses lost, and asked for again")


async def _missed(rig: Rig, token: str, offset_seconds: float) -> None:
    phone = Phone(rig.provider)
    crash = _SHOWN.plan(token)
    first = rig.processes.start(asker_process.main, replace(_job(rig, token, offset_seconds), crash=crash))
    await first.ended(_SECONDS)
    await phone.press(await phone.card(token), "no")
    await phone.away(_AWAY_SECONDS)
    second = rig.processes.start(asker_process.main, _job(rig, token, offset_seconds + _AWAY_SECONDS))
    await phone.press(await phone.card(token, "please press it again"), "yes")
    code = await second.ended(_SECONDS)
    if code != 0:
        raise RuntimeError(f"a process that was left alone ended with {code}\n{rig.last_words()}")


def _job(rig: Rig, token: str, offset_seconds: float) -> QuestionJob:
    return QuestionJob(
        environment=rig.environment,
        journal=rig.journal,
        log=rig.directory / "processes.log",
        token=token,
        clock_offset_seconds=offset_seconds,
    )


SCENARIOS: Final = [
    Scenario(
        name=f"question-gap-{database}",
        what=f"killed, and away for longer than Telegram keeps a press, {database}",
        run=partial(question_gap, database=database),
        in_short=database == "sqlite",
        about=About.QUESTIONS,
    )
    for database in ("sqlite", "postgres")
]
