"""What an agent asks a person is put to them as a question with a card, where they have proved who they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from postroom.domain.answer_attempt import Attempt, Verdict
from postroom.domain.clock import Clock
from postroom.domain.errors import Code, Refused
from postroom.domain.intent import APPROVAL, ASK, AgentIntent, IntentChange, Step, StepKind
from postroom.domain.intent_question import agent_of, subject_of
from postroom.domain.outcome import Outcome
from postroom.domain.ports import Outbound
from postroom.domain.presentation import Presentation
from postroom.domain.question import APPROVE_OPTIONS, AskedPerson, Question, QuestionKind, Subject, Wording
from postroom.domain.question_states import APPROVE, PresentationStatus
from postroom.work.intents.answering import answer_payload, answered, decided
from postroom.work.intents.directory import PersonTarget
from postroom.work.intents.moves import MoveContext
from postroom.work.intents.replies import MAX_ANSWER_CHARACTERS
from postroom.work.questions.asked_people import AskedPeople, asked
from postroom.work.questions.cards import CardMaker, request_id_of
from postroom.work.questions.opening import opened
from postroom.work.questions.places import Channels
from postroom.work.questions.plan import next_at
from postroom.work.questions.questions import Questions
from postroom.work.questions.request import MAX_DEADLINE_SECONDS, QuestionRequest
from postroom.work.questions.timekeeper import ShownCards

_PUT = (StepKind.ASK, StepKind.ESCALATE)
_NUDGES = (StepKind.REMIND, StepKind.ESCALATE)


class AskedBefore(Protocol):
    async def about(self, subject: Subject) -> Sequence[Question]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionCards:
    questions: Questions
    store: AskedBefore
    shown: ShownCards
    cards: CardMaker
    outbound: Outbound
    people: AskedPeople
    channels: Channels
    clock: Clock
    mint: Callable[[int], str]

    async def remind(
        self, intent: AgentIntent, step: Step, person: PersonTarget, wait_seconds: float
    ) -> Outcome | None:
        """
        A reply to the card they have, sent before it is noted and under a key of the step.

        None when they have none: then it is put to them as everything else is.
        """
        found = await self._card(intent, person) if step.kind in _NUDGES else None
        if found is None:
            return None
        question, shown = found
        reminder = self.cards.reminder(question, shown, f"remind:{intent.position}")
        outcome = await self.outbound.submit(reminder, request_id=request_id_of(shown.id), wait_seconds=wait_seconds)
        if outcome.delivery_id is not None:
            await self.questions.reminded(question.id)
        return outcome

    async def _card(self, intent: AgentIntent, person: PersonTarget) -> tuple[Question, Presentation] | None:
        return next(iter(await self._cards(intent, person, PresentationStatus.SHOWN)), None)

    async def _cards(
        self, intent: AgentIntent, person: PersonTarget, status: PresentationStatus
    ) -> list[tuple[Question, Presentation]]:
        """Theirs of what this intent asks and is still open."""
        known = await self.people.at(person.channel, person.address)
        asked_before = await self.store.about(subject_of(intent.id)) if known else ()
        return [
            (question, shown)
            for question in asked_before
            if question.is_open
            for shown in await self.shown.of(question.id)
            if known and shown.person_id == known.id and shown.status is status
        ]

    async def ask(self, intent: AgentIntent, step: Step, person: PersonTarget, sender: str) -> bool:
        """
        False when it is to be put to them in a letter, as everything else is.

        While the card they were to have first is on its way, they are not asked again, and are not reminded of it.
        """
        if step.kind in _NUDGES and await self._cards(intent, person, PresentationStatus.PLANNED):
            return True
        if intent.intent_type != ASK or step.kind not in _PUT:
            return False
        ability = self.channels.get(person.channel)
        known = await self.people.at(person.channel, person.address)
        if known is None or ability is None or not ability.configured:
            return False
        now_us = self.clock.now_us()
        await self.questions.ask(_question(intent, person, asked(known), sender, self.mint(now_us), now_us))
        return True


def _question(
    intent: AgentIntent, person: PersonTarget, who: AskedPerson, sender: str, id: str, now_us: int
) -> Question:
    """Open until the intent runs out; whatever ends the intent ends it as well."""
    request = QuestionRequest(
        wording=_wording(intent),
        channels=(person.channel,),
        deadline_seconds=MAX_DEADLINE_SECONDS,
        state={"agent": person.agent},
        key=f"{intent.id}:{intent.position}",
    )
    question = opened(
        request, id=id, asker=f"intents:{sender}", people=(who,), subject=subject_of(intent.id), now_us=now_us
    )
    ends = [step.at_us for step in intent.plan if step.kind is StepKind.EXPIRE]
    question = replace(question, expires_at_us=max(ends[-1], now_us) if ends else question.expires_at_us)
    return replace(question, next_at_us=next_at(question))


def _wording(intent: AgentIntent) -> Wording:
    context = intent.payload.get("context")
    decides = intent.macro_id == APPROVAL
    return Wording(
        kind=QuestionKind.APPROVE if decides else QuestionKind.TEXT,
        question=intent.text,
        context=str(context) if context else None,
        options=APPROVE_OPTIONS if decides else (),
        allow_text=not decides,
    )


def answer_by(mint: Callable[[int], str]) -> Callable[[AgentIntent, Question, Attempt, Verdict], IntentChange]:
    """What the answer makes of the intent: the same as one that comes in by reply or by the API. Raises Refused."""

    def ruled(intent: AgentIntent, question: Question, attempt: Attempt, verdict: Verdict) -> IntentChange:
        if not intent.is_open:
            raise Refused(Code.ILLEGAL_TRANSITION, f"this is {intent.status.lower()} already")
        moment = MoveContext(attempt.heard_at_us, agent_of(question), mint)
        if verdict.answer is None or verdict.answer.value is None:
            words = verdict.answer.text[:MAX_ANSWER_CHARACTERS] if verdict.answer and verdict.answer.text else None
            status = "answered" if words else "declined"
            return answered(intent, answer_payload(words or "declined", moment, status), moment)
        approve = verdict.answer.value == APPROVE
        return decided(intent, approve=approve, comment="", moment=moment)

    return ruled
