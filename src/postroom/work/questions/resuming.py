"""Wakes a butler when a question that it wanted to go on from has ended: once, however late."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Protocol

from postroom.domain.errors import OverloadRejected, ValidationError
from postroom.domain.ports import Clock
from postroom.domain.principal import Principal, Role
from postroom.domain.question import Question, Resume
from postroom.domain.question_change import EVENT_OF_END
from postroom.domain.time import seconds
from postroom.work.questions.listening import Marks
from postroom.work.questions.records import Feed

LOOK_SECONDS: Final = 2.0
_AT_A_TIME: Final = 100
_ENDS: Final = frozenset(EVENT_OF_END.values())


class StartsSessions(Protocol):
    async def submit(
        self, prompt: str, *, trigger: str, caller: Principal, material: object = None, key: str | None = None
    ) -> object:
        """The same key again starts nothing."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Resuming:
    """Follows the feed from where it was; its place is saved after the sessions are stored."""

    butler: str
    feed: Feed
    marks: Marks
    sessions: StartsSessions
    clock: Clock

    async def look(self) -> int:
        """One page of the feed; answers when to look again."""
        since = await self.marks.offset(self._mark) or 0
        events = await self.feed.events(since=since, limit=_AT_A_TIME)
        try:
            for event in events:
                if event.type in _ENDS:
                    await self._resume(event.question_id)
        except OverloadRejected as busy:
            return self.clock.now_us() + seconds(max(LOOK_SECONDS, busy.retry_after_seconds or 0))
        if events:
            await self.marks.save_offset(self._mark, events[-1].position)
        return self.clock.now_us() + (0 if len(events) == _AT_A_TIME else seconds(LOOK_SECONDS))

    async def _resume(self, question_id: str) -> None:
        question = await self.feed.get(question_id)
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

    @property
    def _mark(self) -> str:
        return f"resume:{self.butler}"


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
