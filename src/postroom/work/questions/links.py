"""Answers by a one-time link: it names one card of one person, opens nothing else, and dies with the wording."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from postroom.domain.answer_attempt import Attempt
from postroom.domain.assurance import Assurance
from postroom.domain.clock import Clock
from postroom.domain.errors import Code, Refused
from postroom.domain.presentation import Presentation, PressedToken, TokenAction
from postroom.domain.question import Question
from postroom.work.questions.asked_people import AskedPeople
from postroom.work.questions.given import Given
from postroom.work.questions.questions import Questions
from postroom.work.questions.records import Cards, QuestionRecord
from postroom.work.questions.strangers import Strangers
from postroom.work.questions.tokens import hash_of
from postroom.work.questions.view import HeardAnswer, OpenedLink, QuestionView

PATH: Final = "/a"  # below it, a page for each link


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """What the page behind `/a/{token}` calls."""

    questions: Questions
    store: QuestionRecord
    cards: Cards
    people: AskedPeople
    clock: Clock
    mint: Callable[[int], str]
    strangers: Strangers | None = None  # None while nothing needs an approval

    async def open(self, token: str) -> OpenedLink:
        """Decides nothing, however often it is opened. Raises Refused when there is no such link."""
        pressed, question = await self._behind(token)
        shown = pressed.presentation
        return OpenedLink(
            view=QuestionView(question=question),
            person_id=shown.person_id,
            person_name=next((one.name for one in question.people if one.id == shown.person_id), ""),
            revision=pressed.token.revision,
        )

    async def answer(self, token: str, given: Given, *, event_id: str) -> HeardAnswer:
        """As sure as the address the link was sent to."""
        pressed, question = await self._behind(token)
        shown, now_us = pressed.presentation, self.clock.now_us()
        proved = await self.people.at(shown.channel, shown.address)
        is_proved = proved is not None and proved.id == shown.person_id
        attempt = Attempt(
            id=self.mint(now_us),
            question_id=question.id,
            channel=shown.channel,
            provider_event_id=f"link:{shown.id}:{event_id}",
            said=given.said,
            heard_at_us=now_us,
            person_id=shown.person_id,
            person_name=proved.name if proved and is_proved else "",
            assurance=Assurance.CHANNEL if is_proved else Assurance.LOW,
            presentation_id=shown.id,
            revision=pressed.token.revision,
        )
        heard = await self.questions.hear(attempt)
        if heard is None:
            raise _no_link()
        return HeardAnswer(verdict=heard.verdict, view=QuestionView(question=heard.question))

    async def _behind(self, token: str) -> tuple[PressedToken, Question]:
        pressed = await self.cards.pressed(hash_of(token))
        if pressed is None or pressed.token.action is not TokenAction.OPEN:
            raise _no_link()
        question = await self.store.get(pressed.presentation.question_id)
        if question is None or question.wording.secret:
            raise _no_link()
        shown = await self._on_card(question, pressed.presentation)
        if shown is None:
            raise _no_link()
        return pressed, shown

    async def _on_card(self, question: Question, card: Presentation) -> Question | None:
        """Who has the link has the card; whom the household does not trust is shown no more than stands there."""
        if self.strangers is None or not await self.strangers.knows(card.person_id):
            return question
        return await self.strangers.on_card(question, [card])


def _no_link() -> Refused:
    return Refused(Code.NOT_FOUND, "this link is not valid, or no longer")
