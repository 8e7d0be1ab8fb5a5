"""Chooses the places where the people of a question are shown it; choosing twice does no harm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from postroom.domain.person import Person
from postroom.domain.ports import Clock
from postroom.domain.presentation import PlannedPresentation, Presentation
from postroom.domain.question import Question
from postroom.work.questions.asked_people import AskedPeople
from postroom.work.questions.places import GONE, Channels, nowhere, places
from postroom.work.questions.records import Plans

_AT_A_TIME: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Planning:
    plans: Plans
    people: AskedPeople
    channels: Channels
    clock: Clock

    async def plan(self, question: Question, people: Sequence[str] | None = None) -> Sequence[Presentation]:
        """For these people of it, or for all for whom it was not done yet."""
        ids = sorted(await self.plans.unplanned(question.id) if people is None else people)
        chosen = [place for one in ids for place in await self._places(question, one)]
        return await self.plans.plan(question.id, ids, chosen, self.clock.now_us())

    def chosen(self, question: Question, people: Sequence[Person], mint: Callable[[int], str]) -> list[Presentation]:
        """For people who are known already, so that it can be stored with the question."""
        now_us, in_order = question.created_at_us, sorted(people, key=lambda one: one.id)
        found = [one for person in in_order for one in places(person, question.channels, self.channels)]
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
        return places(person, question.channels, self.channels) if person else [nowhere(person_id, GONE)]
