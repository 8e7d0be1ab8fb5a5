"""One of two processes in which people answer the same questions at the same moment, through every door there is."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import uvloop

from chaos.crash_points import Crash
from chaos.journal import Journal, Step
from chaos.offset_clock import OffsetClock
from chaos.questions.asker_process import prepare, request
from chaos.questions.house import ASKER, House
from postroom.household.questions import AskingParts
from postroom.kernel.acts.reading import made
from postroom.kernel.values.principal import OPERATOR
from postroom.questions.acts import AskPeople
from postroom.questions.model import PresentationStatus, Question, Said
from postroom.settings.load import load

_LOOK_SECONDS: Final = 0.01
_WAIT_SECONDS: Final = 60.0
DOORS: Final = ("console", "desk", "api", "cli", "console", "desk", "api")  # the phone is the eighth
VALUES: Final = ("yes", "no")


@dataclass(frozen=True, slots=True, kw_only=True)
class RivalJob:
    """The first one asks and hears the phone; both answer when the file `start` says so, on the machine's clock."""

    environment: dict[str, str]
    journal: Path
    log: Path
    tokens: tuple[str, ...]
    first: bool
    start: Path
    limit_seconds: float = 90.0


def main(job: RivalJob) -> None:
    """The target of a forked process."""
    prepare(job.log)
    uvloop.run(_run(job))


async def _run(job: RivalJob) -> None:
    settings, _ = load(job.environment)
    journal = Journal(job.journal)
    house = House(settings=settings, clock=OffsetClock(), journal=journal, crash=Crash(None), hears=job.first)
    async with asyncio.timeout(job.limit_seconds), house.running() as parts:
        if job.first:
            for token in job.tokens:
                await parts.asking.ask(ASKER, made(AskPeople, **request(token)).request(), wait_seconds=0)
        asked = {token: await _shown(parts, token) for token in job.tokens}
        journal.note(Step.UP)
        waiting = [asyncio.create_task(_heard(parts, token, journal)) for token in job.tokens]
        await _everyone_answers(job, parts, list(asked.values()))
        await asyncio.gather(*waiting)
        for question in asked.values():
            await _until_status(parts, question, PresentationStatus.CLOSED)


async def _shown(parts: AskingParts, token: str) -> Question:
    while (question := await parts.store.by_key(str(ASKER), token)) is None:
        await asyncio.sleep(_LOOK_SECONDS)
    await _until_status(parts, question, PresentationStatus.SHOWN)
    return question


async def _until_status(parts: AskingParts, question: Question, status: PresentationStatus) -> None:
    while [one.status for one in await parts.world.store.presentations.of(question.id)] != [status]:
        await asyncio.sleep(_LOOK_SECONDS)


async def _heard(parts: AskingParts, token: str, journal: Journal) -> None:
    """In both processes a caller waits for each of them."""
    view = await parts.asking.wait(ASKER, key=token, wait_seconds=_WAIT_SECONDS)
    journal.note(Step.HEARD, token, str(view.question.answer.value if view.question.answer else view.question.status))


async def _everyone_answers(job: RivalJob, parts: AskingParts, asked: list[Question]) -> None:
    while not job.start.exists():
        await asyncio.sleep(_LOOK_SECONDS)
    began, pause = map(float, job.start.read_text().split())
    for number, question in enumerate(asked):
        await asyncio.sleep(max(0.0, began + number * pause - time.monotonic()))
        await asyncio.gather(*_answers(job, parts, question))


def _answers(job: RivalJob, parts: AskingParts, question: Question) -> list[Coroutine[Any, Any, object]]:
    return [
        parts.asking.answer(
            OPERATOR,
            question.id,
            Said(value=VALUES[(number + job.first) % 2]),
            channel=door,
            event_id=f"{job.first}:{number}",
        )
        for number, door in enumerate(DOORS)
    ]
