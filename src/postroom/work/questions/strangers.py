"""What somebody may read whose messages need an approval: the words that were agreed to and reached them, no others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from postroom.domain.person import PersonRole
from postroom.domain.presentation import Presentation, was_seen
from postroom.domain.question import Preview, Question
from postroom.domain.question_states import PresentationStatus
from postroom.work.questions.asked_people import AskedPeople
from postroom.work.questions.card_words import is_hidden
from postroom.work.questions.cards import request_id_of
from postroom.work.questions.form import properties
from postroom.work.questions.view import QuestionView


@dataclass(frozen=True, slots=True, kw_only=True)
class Strangers:
    """
    Their own token opens no other way to a question than its card, which the approval gate let pass.

    `is_edited`: whether a person changed the words before they agreed to them; the question itself keeps the old ones.
    """

    people: AskedPeople
    is_edited: Callable[[str], Awaitable[bool]]

    async def knows(self, person_id: str) -> bool:
        """Whether this is nobody that the household trusts."""
        found = [one for one in await self.people.find(person_id) if one.id == person_id]
        return not any(one.trusted or one.role is not PersonRole.CONTACT for one in found)

    async def seen(self, person_id: str, view: QuestionView) -> QuestionView | None:
        """As their card shows it; None for what they were not shown."""
        mine = [one for one in view.presentations if one.person_id == person_id]
        if not any(one.revision == view.question.revision and _reached(one) for one in mine):
            return None
        question = await self.on_card(view.question, mine)
        return None if question is None else replace(view, question=question)

    async def on_card(self, question: Question, cards: Sequence[Presentation]) -> Question | None:
        """No more of it than was agreed to; None where that is nothing, or not in these words."""
        if is_hidden(question) or any([await self.is_edited(request_id_of(one.id)) for one in cards]):
            return None
        return _on_card(question)


def _on_card(question: Question) -> Question:
    """Of a form the names of its fields; the reason of its end is agreed to by itself."""
    wording, form = question.wording, question.wording.form
    if question.preview is not Preview.FULL:
        wording = replace(wording, context=None)
    if form is not None:
        plain = {name: {"type": "string"} for name in properties(form)}
        wording = replace(wording, form={"type": "object", "properties": plain})
    return replace(question, wording=wording, reason=None)


def _reached(one: Presentation) -> bool:
    return one.status is PresentationStatus.UNCERTAIN or was_seen(one)
