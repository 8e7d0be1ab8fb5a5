"""A real process that goes through a script from where the one before it died."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, assert_never

import uvloop
from sqlalchemy import select

from chaos.attention.acts import Act, Answer, Change, Dead, Die, Later, Quiet, Say
from chaos.attention.house import House, house
from chaos.attention.points import watch_attention
from chaos.crash_points import Crash
from chaos.journal import Journal, Step
from chaos.offset_clock import OffsetClock
from chaos.questions.asker_process import prepare
from chaos.worker_process import open_deliveries
from postroom.attention.rules.policy import parse_policy
from postroom.attention.store import MOMENTS
from postroom.delivery.notify import deliver_envelope
from postroom.kernel.database.moments import moments
from postroom.settings.load import load

_LOOK_SECONDS: Final = 0.02
_QUIET_LOOKS: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class KeeperJob:
    """`notices`: ids by token, as earlier processes were given them."""

    environment: dict[str, str]
    journal: Path
    log: Path
    acts: tuple[Act, ...]
    first: int = 0
    notices: dict[str, str]
    clock_offset_seconds: float = 0.0
    limit_seconds: float = 120.0


def main(job: KeeperJob) -> None:
    """The target of a forked process."""
    prepare(job.log)
    uvloop.run(_Script(job).run())


class _Script:
    def __init__(self, job: KeeperJob) -> None:
        self._job = job
        self._crash, self._journal = Crash(None), Journal(job.journal)
        self._clock = OffsetClock(job.clock_offset_seconds)
        self._notices = dict(job.notices)

    async def run(self) -> None:
        settings, _ = load(self._job.environment)
        watch_attention(self._crash)
        async with asyncio.timeout(self._job.limit_seconds):
            async with house(settings, self._clock, self._journal, self._crash) as made:
                self._journal.note(Step.UP)
                for number, act in enumerate(self._job.acts[self._job.first :], start=self._job.first):
                    if isinstance(act, Die):  # noted before, or it would die for ever
                        self._journal.note(Step.ACTED, str(number + 1))
                    await self._do(made, act)
                    self._journal.note(Step.ACTED, str(number + 1))

    async def _do(self, made: House, act: Act) -> None:
        match act:
            case Say():
                await asyncio.gather(*(self._say(made, act, token) for token in act.tokens))
            case Later():
                offset = self._clock.offset_us / 1e6 + act.seconds
                self._journal.note(Step.CLOCK, "-", str(offset))  # before: no later process has an earlier clock
                self._clock.jump(act.seconds)
                made.attention.book.woken.ring()
            case Quiet():
                await self._quiet(made)
            case Answer():
                await made.attention.ack(self._notices[act.token], await _owner(made))
                self._journal.note(Step.ANSWERED, act.token, str(self._clock.now_us()))
            case Change():
                await made.attention.set_policy(await _owner(made), parse_policy(dict(act.policy)))
            case Die():
                self._crash.plan(act.plan)
            case Dead():
                if self._crash.plans(act.point):
                    raise RuntimeError(f"no one passed the point {act.point}")
            case _:
                assert_never(act)

    async def _say(self, made: House, act: Say, token: str) -> None:
        self._journal.note(Step.SAID, token, str(self._clock.now_us()))
        answer = await deliver_envelope(made.plane, act.envelope(token), request_id=token, wait_seconds=0)
        notice = answer.get("notice_id")
        if notice is None:
            raise RuntimeError(f"{token} was answered without a notice: {answer}")
        self._notices[token] = notice
        self._journal.note(Step.ANSWER, token, notice)

    async def _quiet(self, made: House) -> None:
        looks = 0
        while looks < _QUIET_LOOKS:
            looks = looks + 1 if await self._is_quiet(made) else 0
            made.attention.book.woken.ring()  # asked more often it does the same
            await asyncio.sleep(_LOOK_SECONDS)

    async def _is_quiet(self, made: House) -> bool:
        passed = select(moments.c.id).where(moments.c.kind == MOMENTS, moments.c.due_at <= self._clock.now_us())
        if await made.store.database.read(lambda connection: connection.execute(passed).first()) is not None:
            return False
        return not await open_deliveries(made.store) and not await pending_sends(made)


async def pending_sends(made: House) -> int:
    people = await made.attention.book.store.everybody()
    states = [(await made.attention.present(one.person))[0] for one in people]
    return sum(one.pending for state in states for one in state.sends.values())


async def _owner(made: House) -> str:
    found = await made.attention.book.people.owner()
    if found is None:
        raise RuntimeError("the household has no owner")
    return found


def restarted(job: KeeperJob, first: int, notices: dict[str, str], offset_seconds: float) -> KeeperJob:
    return replace(job, first=first, notices=notices, clock_offset_seconds=offset_seconds)
