"""Wakes a butler when a question that it wanted to go on from has ended: once, however late."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Protocol

from postroom.domain.attachment import file_shape
from postroom.domain.errors import ValidationError
from postroom.domain.principal import Principal, Role
from postroom.domain.question import Question, Resume
from postroom.domain.question_change import EVENT_OF_END, QuestionEvent
from postroom.work.questions.records import EventFeed

_ENDS: Final = frozenset(EVENT_OF_END.values())


class StartsSessions(Protocol):
    async def submit(
        self, prompt: str, *, trigger: str, caller: Principal, material: object = None, key: str | None = None
    ) -> object:
        """The same key again starts nothing."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Resuming:
    butler: str
    feed: EventFeed
    sessions: StartsSessions

    async def take(self, event: QuestionEvent) -> None:
        """Raises OverloadRejected when there is no room for another session just now."""
        question = await self.feed.get(event.question_id) if event.type in _ENDS else None
        if question is None or question.resume is None or question.resume.butler != self.butler:
            return
        try:
            await self._submit(question, question.resume, material(question))
        except ValidationError:  # too long for one session: what is left out, `wait` hands out
            await self._submit(question, question.resume, outline(question))

    async def _submit(self, question: Question, resume: Resume, read: dict[str, Any]) -> None:
        await self.sessions.submit(
            resume.prompt,
            trigger="answer",
            caller=Principal(Role.BUTLER, self.butler),
            material=read,
            key=f"answer:{question.id}",
        )


def material(question: Question) -> dict[str, Any]:
    """What the session is given to read: the answer is data in it. A secret is not; `wait` hands it out."""
    by, answer, resume = question.answered_by, question.answer, question.resume
    return {
        "ask_id": question.id,
        "question": question.wording.question,
        "status": str(question.status),
        "answer": None
        if answer is None
        else {
            "value": answer.value,
            "text": answer.text,
            "selected": list(answer.selected),
            "fields": dict(answer.fields),
            **({"files": [file_shape(one) for one in answer.files]} if answer.files else {}),
        },
        "answered_by": by.name if by else None,
        "state": question.state,
        "material": dict(resume.material) if resume and resume.material else None,
    }


def outline(question: Question) -> dict[str, Any]:
    return {
        "ask_id": question.id,
        "status": str(question.status),
        "note": "the answer is too long to be shown here; call wait with this ask_id",
    }
