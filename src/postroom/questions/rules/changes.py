"""Every change of a question that is not a person's answer; each leaves one that has ended as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from postroom.kernel.values.ids import SECOND_US, seconds
from postroom.questions.model import (
    BY_DEFAULT,
    Added,
    AskedPerson,
    Question,
    QuestionChange,
    QuestionEventType,
    QuestionMove,
    Resume,
    Subject,
    Wording,
    after,
    ended,
)
from postroom.questions.rules.plan import Plan, QuestionStep, next_at
from postroom.questions.rules.request import QuestionRequest, fingerprint

NOT_CAUGHT_UP: Final = "not everything that was sent before the deadline could be read"


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


def revised(question: Question, wording: Wording, *, expires_at_us: int | None = None, now_us: int) -> QuestionChange:
    """Another wording, or only another deadline; whatever was shown before no longer counts when the words differ."""
    if not question.is_open:
        return QuestionChange(question=question)
    mark = fingerprint(wording, (person.id for person in question.people if person.added is Added.ASKED))
    same = mark == question.revision_hash
    new = replace(question, wording=wording, revision_hash=mark, expires_at_us=expires_at_us or question.expires_at_us)
    new = replace(new, revision=question.revision + (0 if same else 1), next_at_us=next_at(new))
    if new == question:
        return QuestionChange(question=question)
    after(question.status, QuestionMove.REVISE)
    return _noted(new, QuestionEventType.REVISED, now_us, revision=new.revision)


def reminded(question: Question, *, now_us: int) -> QuestionChange:
    if not question.is_open or question.reminded_at_us is not None:
        return QuestionChange(question=question)
    return _noted(_planned(replace(question, reminded_at_us=now_us)), QuestionEventType.REMINDED, now_us)


def escalated(question: Question, *, now_us: int) -> QuestionChange:
    """More people may answer; those who were asked still may."""
    if not question.is_open or question.escalated_at_us is not None:
        return QuestionChange(question=question)
    more = tuple(person for person in question.escalate_to if not question.asks(person.id))
    new = _planned(replace(question, people=question.people + more, escalated_at_us=now_us))
    return _noted(new, QuestionEventType.ESCALATED, now_us, people=[person.id for person in more])


def postponed(question: Question, step: QuestionStep, *, until_us: int) -> QuestionChange:
    """It is quiet for those whom the step is about; no line in the feed, since nothing has happened."""
    after_seconds = -((question.created_at_us - until_us) // SECOND_US)  # a whole second, and never too early
    if not question.is_open or until_us <= question.created_at_us:
        return QuestionChange(question=question)
    if step is QuestionStep.REMIND:
        return QuestionChange(question=_planned(replace(question, remind_after_seconds=after_seconds)))
    return QuestionChange(question=_planned(replace(question, escalate_after_seconds=after_seconds)))


def expired(question: Question, *, caught_up: bool, now_us: int) -> QuestionChange:
    """With the default as its answer, if there is one; no person acted, and it says so."""
    default = question.wording.default
    return _ended(
        question,
        QuestionMove.EXPIRE,
        now_us,
        answer=default,
        answered_by=BY_DEFAULT if default else None,
        reason=None if caught_up else NOT_CAUGHT_UP,
    )


def cancelled(question: Question, *, reason: str | None, now_us: int) -> QuestionChange:
    return _ended(question, QuestionMove.CANCEL, now_us, reason=reason)


def superseded(question: Question, *, by: str, now_us: int) -> QuestionChange:
    return _ended(question, QuestionMove.SUPERSEDE, now_us, superseded_by=by)


def taken(question: Question, plan: Plan, now_us: int) -> QuestionChange:
    """The first step of a plan; the others come with the next look."""
    match plan.steps[:1]:
        case (QuestionStep.REMIND,):
            return reminded(question, now_us=now_us)
        case (QuestionStep.ESCALATE,):
            return escalated(question, now_us=now_us)
        case (QuestionStep.EXPIRE,):
            return expired(question, caught_up=plan.caught_up, now_us=now_us)
        case _:
            return QuestionChange(question=question)


def _ended(question: Question, move: QuestionMove, now_us: int, **changes: object) -> QuestionChange:
    if not question.is_open:
        return QuestionChange(question=question)
    return ended(question, move, now_us, **changes)


def _planned(question: Question) -> Question:
    return replace(question, next_at_us=next_at(question))


def _noted(question: Question, event: QuestionEventType, now_us: int, **note: object) -> QuestionChange:
    return QuestionChange(question=question, event=event, at_us=now_us, note=note)
