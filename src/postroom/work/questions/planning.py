"""Chooses the places where the people of a question are shown it; choosing twice does no harm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from postroom.domain.clock import Clock
from postroom.domain.person import Person
from postroom.domain.presentation import PlannedPresentation, Presentation
from postroom.domain.question import Question
from postroom.domain.question_states import PresentationStatus
from postroom.domain.time import SECOND_US, seconds
from postroom.work.attention.question_times import QuestionTimes
from postroom.work.questions.asked_people import AskedPeople
from postroom.work.questions.places import GONE, Channels, Turns, nowhere, places
from postroom.work.questions.records import Plans

NEXT_CHANNEL_SECONDS: Final = 300.0
QUIET_SECONDS: Final = 300.0  # how soon what waits for the end of quiet hours is judged anew
QUIET: Final = "it is quiet for them"
_AT_A_TIME: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Planning:
    """`times` know of channels that a person wishes to be asked on, and when."""

    plans: Plans
    people: AskedPeople
    channels: Channels
    clock: Clock
    next_channel_seconds: float = NEXT_CHANNEL_SECONDS
    times: QuestionTimes | None = None

    async def plan(self, question: Question, people: Sequence[str] | None = None) -> Sequence[Presentation]:
        """For these people of it, or for all for whom it was not done yet."""
        ids = sorted(await self.plans.unplanned(question.id) if people is None else people)
        chosen = [place for one in ids for place in await self._places(question, one)]
        return await self.plans.plan(question.id, ids, chosen, self.clock.now_us())

    def chosen(self, question: Question, people: Sequence[Person], mint: Callable[[int], str]) -> list[Presentation]:
        """For people who are known already, so that it can be stored with the question."""
        now_us, in_order = question.created_at_us, sorted(people, key=lambda one: one.id)
        found = [one for person in in_order for one in self._on_channels(question, person)]
        return [one.under(mint(now_us), question.id, now_us) for one in found]

    async def take_up(self) -> int:
        """What was asked and not planned, by a process that died or because people were added; how many it was."""
        found = await self.plans.to_plan(_AT_A_TIME)
        for question in found:
            await self.plan(question)
        return len(found)

    async def _places(self, question: Question, person_id: str) -> list[PlannedPresentation]:
        found = await self.people.find(person_id)
        person = next((one for one in found if one.id == person_id), None)
        return self._on_channels(question, person) if person else [nowhere(person_id, GONE)]

    def _on_channels(self, question: Question, person: Person) -> list[PlannedPresentation]:
        return places(person, question.channels, self.channels, self._turns(person.id))

    async def turn_us(self, question: Question, shown: Presentation, now_us: int) -> int | None:
        """When this channel has its turn, if the person's channel before it came up late; None when that is now."""
        if question.channels is not None or now_us - shown.created_at_us < SECOND_US:  # it is the first
            return None
        mine = [one for one in await self.plans.of(question.id) if one.person_id == shown.person_id]
        before = [one for one in mine if one.id < shown.id and one.status is not PresentationStatus.FAILED][-1:]
        gap_us = seconds(self._turns(shown.person_id).gap(shown.channel))
        for one in before:
            is_held = one.status is PresentationStatus.PLANNED and one.reason == QUIET
            at_us = (now_us if is_held else one.updated_at_us) + gap_us
            if at_us > now_us and (is_held or one.status is PresentationStatus.SHOWN):
                return at_us
        return None

    def _turns(self, person_id: str) -> Turns:
        steps = self.times.channels_after(person_id) if self.times is not None else ()
        return Turns(seconds=self.next_channel_seconds, steps=steps)
