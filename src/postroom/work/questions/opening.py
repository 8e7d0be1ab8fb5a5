"""A checked request becomes an open question, addressed to people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from postroom.domain.question import Added, AskedPerson, Question, Resume, Subject
from postroom.domain.time import seconds
from postroom.work.questions.fingerprint import fingerprint
from postroom.work.questions.plan import next_at
from postroom.work.questions.request import QuestionRequest


def opened(
    request: QuestionRequest,
    *,
    id: str,
    asker: str,
    people: Sequence[AskedPerson],
    escalate_to: Sequence[AskedPerson] = (),
    resume: Resume | None = None,
    subject: Subject | None = None,
    now_us: int,
) -> Question:
    """`people` are those whom `to` names, found and fixed here: they, and those added later, may answer."""
    mark = fingerprint(request.wording, (person.id for person in people))
    question = Question(
        id=id,
        asker=asker,
        key=request.key,
        fingerprint=mark,
        wording=request.wording,
        people=tuple({person.id: person for person in people}.values()),
        revision_hash=mark,
        channels=request.channels,
        urgency=request.urgency,
        preview=request.preview,
        state=request.state,
        remind_after_seconds=request.remind_after_seconds,
        escalate_to=tuple(replace(person, added=Added.ESCALATED) for person in escalate_to),
        escalate_after_seconds=request.escalate_after_seconds,
        resume=resume,
        subject=subject,
        created_at_us=now_us,
        expires_at_us=request.expires_at_us or now_us + seconds(request.deadline_seconds),
    )
    return replace(question, next_at_us=next_at(question))
