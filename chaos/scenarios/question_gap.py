"""We are away for longer than Telegram keeps a press: it is gone, the card says so, and the person presses again."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final

from chaos.ground import Ground
from chaos.questions import asker_process
from chaos.questions.asker_process import QuestionErrand
from chaos.questions.phone import Phone
from chaos.questions.reading import way_back
from chaos.questions.steps import Moment, Phase, after
from chaos.scenario import About, Result, Scenario, World

_SECONDS: Final = 40.0
_AWAY_SECONDS: Final = 200.0  # a press lives for 150
_SHOWN: Final = Moment(phase=Phase.PRESENT, point=after("presented"))


async def question_gap(world: World, database: str) -> Result:
    open_ground = world.sqlite if database == "sqlite" else world.postgres
    said: dict[str, str | None] = {}
    async with open_ground("question gap") as ground:
        for number in range(world.sized(3, 1)):
            token = f"g{number}"
            await _missed(ground, token, 2 * number * _AWAY_SECONDS)
            said[token] = "yes"
        found = await way_back(ground, said)
    return Result(comparison=found, note=f"{len(said)} presses lost, and asked for again")


async def _missed(ground: Ground, token: str, offset_seconds: float) -> None:
    phone = Phone(ground.provider)
    crash = _SHOWN.plan(token)
    first = ground.nursery.start(asker_process.main, replace(_errand(ground, token, offset_seconds), crash=crash))
    await first.ended(_SECONDS)
    await phone.press(await phone.card(token), "no")
    await phone.away(_AWAY_SECONDS)
    second = ground.nursery.start(asker_process.main, _errand(ground, token, offset_seconds + _AWAY_SECONDS))
    await phone.press(await phone.card(token, "please press it again"), "yes")
    code = await second.ended(_SECONDS)
    if code != 0:
        raise RuntimeError(f"a process that was left alone ended with {code}\n{ground.last_words()}")


def _errand(ground: Ground, token: str, offset_seconds: float) -> QuestionErrand:
    return QuestionErrand(
        environment=ground.environment,
        journal=ground.journal,
        log=ground.directory / "processes.log",
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
