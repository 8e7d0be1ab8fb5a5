"""Whom the owner chose for a name is remembered as their word."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from postroom.domain.contact_book import BookGlance
from postroom.domain.errors import Refused
from postroom.domain.question import Question
from postroom.domain.question_change import QuestionEvent, QuestionEventType
from postroom.work.intents.contact_questions import is_about_contact
from postroom.work.people.confirm import Confirmation, Confirmer


class AnsweredQuestions(Protocol):
    async def get(self, question_id: str) -> Question | None: ...


class Memories(Protocol):
    async def glance(self, owner_agent: str, query: str, address: str) -> BookGlance: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ContactAnswers:
    """Follows the feed: taken twice, an answer is remembered once."""

    questions: AnsweredQuestions
    memories: Memories
    confirmer: Confirmer

    async def take(self, event: QuestionEvent) -> None:
        question = await self.questions.get(event.question_id) if event.type is QuestionEventType.ANSWERED else None
        choice = _choice(question) if question else None
        if question is None or choice is None or await self._is_known(question, choice):
            return
        with suppress(Refused):  # the contact moved or is gone: then there is no one to remember
            await self.confirmer.confirm(choice, by_person=True)

    async def _is_known(self, question: Question, choice: Confirmation) -> bool:
        """Or another choice was made after this answer."""
        memory = (await self.memories.glance(choice.owner_agent, choice.query, "")).memory
        return memory is not None and memory.confirmed_at_us >= (question.ended_at_us or 0)


def _choice(question: Question) -> Confirmation | None:
    """None when it is about something else, or its words have been erased."""
    kept, answer = question.state, question.answer
    if not is_about_contact(question) or not isinstance(kept, Mapping) or answer is None or answer.value is None:
        return None
    return Confirmation(owner_agent=str(kept["owner_agent"]), query=str(kept["query"]), agent_address=answer.value)
