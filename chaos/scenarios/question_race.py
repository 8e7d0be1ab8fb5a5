"""Sixteen attempts to answer one question at the same moment, through every door, against two processes."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Final

from chaos import journal
from chaos.journal import Step
from chaos.processes import Child
from chaos.questions import rival_process
from chaos.questions.phone import Phone
from chaos.questions.reading import attempts_on, way_back
from chaos.questions.rival_process import DOORS, VALUES, RivalJob
from chaos.rig import Rig
from chaos.scenario import About, Result, Scenario, World, expectations

_SECONDS: Final = 100.0
_LOOK_SECONDS: Final = 0.02
_AHEAD_SECONDS: Final = 0.3
_PAUSE_SECONDS: Final = 0.25
_ATTEMPTS: Final = 2 * (len(DOORS) + 1)


async def question_race(world: World) -> Result:
    async with world.postgres("question race") as rig:
        tokens = tuple(f"r{number}" for number in range(world.sized(20, 3)))
        start = rig.directory / "start"
        rivals = [_rival(rig, tokens, start, first=first) for first in (True, False)]
        await _both_up(rig, rivals)
        phone = Phone(rig.provider)
        cards = {token: await phone.card(token) for token in tokens}
        began = time.monotonic() + _AHEAD_SECONDS
        _say(start, began)
        for number, token in enumerate(tokens):
            await asyncio.sleep(max(0.0, began + number * _PAUSE_SECONDS - time.monotonic()))
            await asyncio.gather(*(phone.press_if_there(cards[token], value) for value in VALUES))
        codes = [await rival.ended(_SECONDS) for rival in rivals]
        found = await way_back(rig, dict.fromkeys(tokens))
        kept = [await attempts_on(rig, token) for token in tokens]
    complaints = expectations(
        (codes == [0, 0], f"the processes ended with {codes}: {rig.last_words() if any(codes) else ''}"),
        (all(number <= _ATTEMPTS for number in kept), f"more attempts were kept than were made: {kept}"),
        (all(number >= 2 * len(DOORS) for number in kept), f"attempts are missing: {kept}"),
        (found.answered == len(tokens), f"only {found.answered} have an answer"),
    )
    return Result(comparison=found, note=f"{sum(kept)} attempts, 2 processes", complaints=complaints)


def _rival(rig: Rig, tokens: tuple[str, ...], start: Path, *, first: bool) -> Child:
    job = RivalJob(
        environment=rig.environment,
        journal=rig.journal,
        log=rig.directory / "processes.log",
        tokens=tokens,
        first=first,
        start=start,
    )
    return rig.processes.start(rival_process.main, job)


def _say(start: Path, began: float) -> None:
    """Whole or not at all."""
    draft = start.with_suffix(".new")
    draft.write_text(f"{began} {_PAUSE_SECONDS}")
    draft.rename(start)


async def _both_up(rig: Rig, rivals: list[Child]) -> None:
    async with asyncio.timeout(_SECONDS):
        while sum(entry.step is Step.UP for entry in journal.read(rig.journal)) < len(rivals):
            if not all(rival.alive for rival in rivals):
                raise RuntimeError(f"a process ended before it began\n{rig.last_words()}")
            await asyncio.sleep(_LOOK_SECONDS)


SCENARIOS: Final = [
    Scenario(
        name="question-race",
        what=f"{_ATTEMPTS} answers at the same moment from phone, console, desk, API and command line, postgres",
        run=question_race,
        about=About.QUESTIONS,
    )
]
