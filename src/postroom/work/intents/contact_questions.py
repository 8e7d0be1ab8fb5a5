"""When an assistant is not sure whom a name means, the owner is asked: in the console and at the desk alone."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Protocol

from postroom.domain.agent_address import HOUSEHOLD_OWNER
from postroom.domain.contact import Candidate, Resolution
from postroom.domain.errors import PostroomError
from postroom.domain.ports import Clock
from postroom.domain.principal import OWNER, Principal
from postroom.domain.question import Option, Question, QuestionKind, Subject, SubjectKind, Wording
from postroom.domain.question_states import QuestionStatus
from postroom.domain.time import seconds
from postroom.work.intents.question_cards import AskedBefore
from postroom.work.questions.card_words import one_line
from postroom.work.questions.judge import CONSOLE
from postroom.work.questions.request import QuestionRequest
from postroom.work.questions.view import QuestionView
from postroom.work.questions.wording_request import MAX_LABEL_CHARACTERS

DAY_SECONDS: Final = 86_400
MOST_OPEN: Final = 20  # of one assistant: one that tries names must not fill a person's day
_MOST_NAME: Final = 100
_CONTEXT: Final = (
    "An assistant looked this name up in your contacts and was not sure. Nothing was sent. "
    "Whom you choose is remembered for this name. “Rather not” means nobody of these."
)
_CONFIRMED: Final = "it was confirmed meanwhile"


class AsksTheOwner(Protocol):
    async def ask(self, asker: Principal, request: QuestionRequest, *, wait_seconds: float, subject: Subject) -> object:
        """Raises KeyReused."""
        ...

    async def listing(
        self, caller: Principal, *, status: QuestionStatus | None, limit: int
    ) -> Sequence[QuestionView]: ...


class ChangesQuestions(Protocol):
    async def cancel(self, question_id: str, reason: str | None = None) -> Question | None: ...

    async def revise(self, question_id: str, wording: Wording) -> Question | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ContactQuestions:
    """One open question for each name, and only about the owner's book."""

    asking: AsksTheOwner
    questions: ChangesQuestions
    store: AskedBefore
    clock: Clock

    async def ask(self, by: Principal, owner_agent: str, found: Resolution) -> None:
        """The resolution stands, whatever becomes of the question."""
        if by.is_person or owner_agent != HOUSEHOLD_OWNER:
            return
        with suppress(PostroomError):
            await self._ask(by, owner_agent, found)

    async def settle(self, owner_agent: str, query: str) -> None:
        """When this cannot be noted, the question waits until its end, and harms nothing."""
        with suppress(PostroomError):
            for question in await self.store.about(subject_of(owner_agent, query)):
                if question.is_open:
                    await self.questions.cancel(question.id, _CONFIRMED)

    async def _ask(self, by: Principal, owner_agent: str, found: Resolution) -> None:
        subject, wording = subject_of(owner_agent, found.query), _wording(found)
        before = await self.store.about(subject)
        if before and before[-1].is_open:
            if before[-1].wording != wording:
                await self.questions.revise(before[-1].id, wording)
            return
        if (before and self._was_refused(before[-1], wording)) or await self._has_asked_enough(by):
            return
        request = QuestionRequest(
            wording=wording,
            to=(OWNER,),
            channels=(CONSOLE,),
            deadline_seconds=DAY_SECONDS,
            state={"owner_agent": owner_agent, "query": found.query},
            key=f"{subject}:{len(before)}",
        )
        await self.asking.ask(by, request, wait_seconds=0, subject=subject)

    def _was_refused(self, last: Question, wording: Wording) -> bool:
        """The person has said that it is nobody of these; the same is not asked again for a day."""
        recently = self.clock.now_us() - (last.ended_at_us or 0) < seconds(DAY_SECONDS)
        return last.status is QuestionStatus.DECLINED and recently and last.wording == wording

    async def _has_asked_enough(self, by: Principal) -> bool:
        waiting = await self.asking.listing(by, status=QuestionStatus.OPEN, limit=2 * MOST_OPEN)
        return sum(is_about_contact(one.question) for one in waiting) >= MOST_OPEN


def subject_of(owner_agent: str, query: str) -> Subject:
    """A name may have any characters and any length, so its digest stands for it."""
    return Subject(SubjectKind.CONTACT, hashlib.sha256(f"{owner_agent}\x1f{query}".encode()).hexdigest()[:32])


def is_about_contact(question: Question) -> bool:
    return question.subject is not None and question.subject.kind is SubjectKind.CONTACT


def _wording(found: Resolution) -> Wording:
    """The same for every assistant that asks."""
    return Wording(
        kind=QuestionKind.CHOICE,
        question=f"Whom does “{one_line(found.query, _MOST_NAME)}” mean?",
        context=_CONTEXT,
        options=_options(found.candidates),
        allow_text=False,
    )


def _options(candidates: Sequence[Candidate]) -> tuple[Option, ...]:
    """Two who look the same are told apart by their addresses."""
    labels = [_label(one.display_name, one.hint) for one in candidates]
    if len(set(labels)) < len(labels):
        labels = [_label(one.display_name, one.agent_address) for one in candidates]
    return tuple(Option(value=one.agent_address, label=label) for one, label in zip(candidates, labels, strict=True))


def _label(name: str, hint: str) -> str:
    return one_line(f"{one_line(name, _MOST_NAME)} ({hint})", MAX_LABEL_CHARACTERS)
