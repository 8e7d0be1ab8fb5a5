"""A person at a glance: what was said lately, what they were asked, and what attention keeps for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from postroom.domain.notice_states import CELLS
from postroom.domain.person import Person
from postroom.domain.person_history import HistoryLine, HistoryQuery
from postroom.domain.question import Question
from postroom.doors.console.attention_words import policy_words
from postroom.doors.console.questions_page import QuestionPages
from postroom.doors.console.visit import Visit
from postroom.work.attention.attention import Attention
from postroom.work.people.people import PersonRecords

_LINES: Final = 6
_QUESTIONS: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonOverview:
    """`policy` is what they chose themselves, or else what the household has; `held` waits for a better moment."""

    lines: Sequence[HistoryLine]
    has_more: bool
    open_questions: Sequence[Question]
    ended_questions: Sequence[Question]
    policy: Sequence[tuple[str, str]]
    is_own_policy: bool
    held: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonOverviews:
    history: PersonRecords
    questions: QuestionPages
    attention: Attention

    async def of(self, visit: Visit, person: Person) -> PersonOverview:
        said = await self.history.of(person, HistoryQuery(limit=_LINES))
        asked = [view.question for view in await self.questions.asked_of(visit, person.id, _QUESTIONS)]
        own, _ = await self.attention.policy(person.id)
        policy = own or self.attention.book.household
        held = await self.attention.book.store.in_states(person.id, [str(one) for one in CELLS["held"]])
        return PersonOverview(
            lines=said.lines,
            has_more=said.before is not None,
            open_questions=[one for one in asked if one.is_open],
            ended_questions=[one for one in asked if not one.is_open],
            policy=policy_words(policy) if policy is not None else (),
            is_own_policy=own is not None,
            held=held,
        )
