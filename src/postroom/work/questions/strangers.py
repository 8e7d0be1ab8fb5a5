"""What somebody may read whose messages need an approval: the words that were agreed to and reached them, no others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from postroom.domain.person import PersonRole
from postroom.domain.presentation import Presentation
from postroom.domain.question_states import PresentationStatus
from postroom.work.questions.asked_people import AskedPeople
from postroom.work.questions.cards import request_id_of
from postroom.work.questions.view import QuestionView
from postroom.work.questions.why import was_seen


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
        """Without the reason of its end, which is agreed to by itself; None for what they were not shown."""
        mine = [one for one in view.presentations if one.person_id == person_id]
        cards = [one for one in mine if one.revision == view.question.revision and _reached(one)]
        if not cards or any([await self.is_edited(request_id_of(one.id)) for one in mine]):
            return None
        return replace(view, question=replace(view.question, reason=None))


def _reached(one: Presentation) -> bool:
    return one.status is PresentationStatus.UNCERTAIN or was_seen(one)
