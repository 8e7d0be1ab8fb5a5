"""Reminds, escalates and ends questions at their time, and not before what was sent in time has been read."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from postroom.attention.attention import QuestionTimes
from postroom.kernel.database.engine import Marks
from postroom.kernel.running.clock import Clock
from postroom.kernel.values.ids import SECOND_US, seconds
from postroom.message.channel import Outbound
from postroom.questions.model import PresentationStatus, Question
from postroom.questions.presenter import QUIET_SECONDS
from postroom.questions.questions import Questions
from postroom.questions.rules.cards import CardMaker
from postroom.questions.rules.plan import QuestionStep
from postroom.questions.store.presentations import StoredPresentations
from postroom.questions.store.questions import StoredQuestions

LOOK_SECONDS: Final = 5.0  # how soon what another process asked is known here; nothing is due earlier than that
GAP_SECONDS: Final = 120.0  # no channel is known to keep a press for longer than 150 seconds
_NOTE_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Timekeeper:
    """A reminder is sent before it is noted, under a key of its own: a crash in between sends it once all the same."""

    questions: Questions
    shown: StoredPresentations
    cards: CardMaker
    outbound: Outbound
    clock: Clock
    times: QuestionTimes | None = None

    async def look(self) -> int:
        """One round; answers when the next is due."""
        now_us = self.clock.now_us()
        next_us = await self.questions.next_step_us()
        if next_us is not None and next_us <= now_us:
            next_us = await self.questions.look(self._step)
        latest_us = now_us + seconds(LOOK_SECONDS)
        return latest_us if next_us is None else min(next_us, latest_us)

    async def _step(self, question: Question, step: QuestionStep, now_us: int) -> None:
        """What falls into quiet hours waits for their end; what is not postponed here is noted afterwards."""
        quiet: Sequence[int] = ()
        if step is QuestionStep.REMIND:
            quiet = await self._remind(question, now_us)
        elif step is QuestionStep.ESCALATE:
            ends = [await self._quiet_until(question, one.id, now_us) for one in question.people]
            quiet = [one for one in ends if one is not None] if None not in ends else ()
        if quiet:
            until_us = min(*quiet, now_us + seconds(QUIET_SECONDS))  # looked at again, because policies change
            await self.questions.postpone(question.id, step, until_us)

    async def _remind(self, question: Question, now_us: int) -> Sequence[int]:
        """Those for whom it is not quiet; when it ends for the others. A second time is the same message."""
        later = []
        for shown in await self.shown.of(question.id):
            if shown.status is not PresentationStatus.SHOWN:
                continue
            quiet_us = await self._quiet_until(question, shown.person_id, now_us)
            if quiet_us is not None:
                later.append(quiet_us)
                continue
            reminder = self.cards.reminder(question, shown)
            await self.outbound.submit(reminder, request_id=shown.id, wait_seconds=0)
        return later

    async def _quiet_until(self, question: Question, person: str, now_us: int) -> int | None:
        if self.times is None:
            return None
        at_us = await self.times.shown_at(person, question.asker, question.urgency, now_us)
        return at_us if at_us > now_us else None


# ---- how far what people sent has been read, and for how long we did not listen ----


_Repair = Callable[[str, int, int], Awaitable[None]]  # channel, from when, until when
_CaughtUp = Callable[[], None]


class Listening:
    """
    Told of every look into a channel.

    Nothing ends before what was sent in time has been read, so a look that would last beyond a deadline is cut short.
    After a gap what repairs it is called once; the mark moves on only afterwards.
    """

    def __init__(self, marks: Marks, agenda: StoredQuestions, clock: Clock, caught_up: _CaughtUp) -> None:
        self._marks = marks
        self._agenda = agenda
        self._clock = clock
        self._tell = caught_up
        self._repairs: list[_Repair] = []
        self._read_until: dict[str, int] = {}
        self._heard_at: dict[str, int] = {}
        self._noted_at: dict[str, int] = {}

    def expect(self, channel: str) -> None:
        """It is listened to from now on; until the first look nothing is known of it."""
        self._read_until.setdefault(channel, 0)

    def after_a_gap(self, repair: _Repair) -> None:
        self._repairs.append(repair)

    async def caught_up(self, question_id: str) -> int | None:
        """Until when everything has been read where this one is shown; None when nobody listens there."""
        if not self._read_until:
            return None
        shown_on = await self._agenda.shown_on(question_id)
        return min((self._read_until[one] for one in shown_on if one in self._read_until), default=None)

    async def patience(self, channel: str, longest_seconds: float) -> float:
        """How long the next look may wait for something to come: the first one not at all, so that a gap is known."""
        if channel not in self._heard_at:
            await self._begin(channel)
            return 0
        due_us = await self._agenda.next_due(self._read_until.get(channel, 0))
        if due_us is None:
            return longest_seconds
        left = math.ceil((due_us - self._clock.now_us()) / SECOND_US)
        return min(longest_seconds, max(0, left))

    async def looked(self, channel: str, began_us: int, *, everything: bool) -> None:
        """A look that began then is over, and what it brought has been heard."""
        last_us = self._heard_at.get(channel) or await self._marks.offset(_mark(channel))
        if last_us is not None and began_us - last_us > seconds(GAP_SECONDS):
            for repair in self._repairs:
                await repair(channel, last_us, began_us)
        await self._note(channel, self._clock.now_us())
        if everything:
            self._read_until[channel] = began_us
            self._tell()

    async def _begin(self, channel: str) -> None:
        """From the first look ever people can press buttons, so a gap may begin during it."""
        if await self._marks.offset(_mark(channel)) is None:
            await self._marks.save_offset(_mark(channel), self._clock.now_us())

    async def _note(self, channel: str, now_us: int) -> None:
        self._heard_at[channel] = now_us
        if now_us - self._noted_at.get(channel, 0) >= seconds(_NOTE_SECONDS):
            await self._marks.save_offset(_mark(channel), now_us)
            self._noted_at[channel] = now_us


def _mark(channel: str) -> str:
    return f"{channel}:listened"
