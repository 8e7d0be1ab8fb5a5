"""A real process that asks, shows, hears and closes, and dies at a named moment; started again it uses the same key."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import uvloop

from chaos.crash_points import Crash, CrashPlan
from chaos.journal import Journal, Step
from chaos.offset_clock import OffsetClock
from chaos.questions.house import ASKER, House
from chaos.questions.steps import after, before
from chaos.tokens import text_of
from postroom.household.questions import AskingParts
from postroom.kernel.acts.reading import made
from postroom.kernel.running import telemetry
from postroom.kernel.values.errors import Refused
from postroom.questions.acts import AskPeople
from postroom.questions.model import SETTLED, PresentationStatus, Question
from postroom.questions.shapes import QuestionView
from postroom.settings.load import load

_PR_SET_PDEATHSIG: Final = 1
_LOOK_SECONDS: Final = 0.02
_WAIT_SECONDS: Final = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionJob:
    """`token` is in the question's text and is its key, so that it may be asked again."""

    environment: dict[str, str]
    journal: Path
    log: Path
    token: str
    crash: CrashPlan | None = None
    clock_offset_seconds: float = 0.0
    limit_seconds: float = 30.0
    channel: str = "telegram"


def main(job: QuestionJob) -> None:
    """The target of a forked process."""
    prepare(job.log)
    uvloop.run(_run(job))


def prepare(words: Path) -> None:
    """It dies with its parent, and what it says is kept."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    target = os.open(words, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.dup2(target, 1)
    os.dup2(target, 2)
    telemetry.configure_log("ERROR")


async def _run(job: QuestionJob) -> None:
    crash, journal = Crash(job.crash), Journal(job.journal)
    settings, _ = load(job.environment)
    clock = OffsetClock(job.clock_offset_seconds)
    house = House(settings=settings, clock=clock, journal=journal, crash=crash, channel=job.channel)
    async with asyncio.timeout(job.limit_seconds), house.running() as parts:
        question = await _answered(parts, job.token, job.channel, journal)
        crash.at(before("telling"))
        journal.note(Step.HEARD, job.token, str(question.answer.value if question.answer else question.status))
        crash.at(after("telling"))
        while not await _is_closed(parts, question):
            await asyncio.sleep(_LOOK_SECONDS)
        if job.crash is not None:
            await asyncio.Event().wait()


async def _answered(parts: AskingParts, token: str, channel: str, journal: Journal) -> Question:
    view = await _asked(parts, token, channel)
    journal.note(Step.ASKED, token)
    while view.question.is_open:
        view = await parts.asking.wait(ASKER, ask_id=view.question.id, wait_seconds=_WAIT_SECONDS)
    return view.question


async def _asked(parts: AskingParts, token: str, channel: str) -> QuestionView:
    """As an agent does that does not know whether it has asked before."""
    try:
        return await parts.asking.wait(ASKER, key=token, wait_seconds=0)
    except Refused:
        return await parts.asking.ask(ASKER, made(AskPeople, **request(token, channel)).request(), wait_seconds=0)


def request(token: str, channel: str = "telegram") -> dict[str, object]:
    return {
        "question": f"{text_of(token)} Ship it?",
        "options": ["yes", "no"],
        "channels": [channel],
        "idempotency_key": token,
    }


async def _is_closed(parts: AskingParts, question: Question) -> bool:
    shown = await parts.world.store.presentations.of(question.id)
    return bool(shown) and all(one.status in SETTLED or one.status is PresentationStatus.FAILED for one in shown)
