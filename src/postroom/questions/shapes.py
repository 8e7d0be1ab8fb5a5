"""The one shape in which every door tells what became of a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from pydantic import Field

from postroom.kernel.acts.declaration import Shape
from postroom.kernel.values.ids import to_text
from postroom.questions.model import (
    BY_DEFAULT,
    KeptAttempt,
    Presentation,
    PresentationStatus,
    Question,
    QuestionEvent,
    QuestionStatus,
    Verdict,
)

_NOT_SHOWN: Final = "not_shown"
_STILL_OPEN: Final = (
    "Not answered yet. Call wait with this ask_id to go on waiting; do not ask again and do not make up an answer."
)
_Status = Literal["open", "answered", "declined", "expired", "cancelled", "superseded"]


# ---- what callers are shown, inside the house ----


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionView:
    """`joined`: the call made nothing new, this question was there before it."""

    question: Question
    presentations: Sequence[Presentation] = ()
    joined: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswersPage:
    """What ended for one asker; `cursor` is where the next page begins."""

    views: Sequence[QuestionView]
    cursor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionStory:
    """All that happened to a question: its events, and every attempt to answer it with its verdict."""

    view: QuestionView
    events: Sequence[QuestionEvent]
    attempts: Sequence[KeptAttempt]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeardAnswer:
    """What became of a person's answer, and the question as it is then."""

    verdict: Verdict
    view: QuestionView


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedLink:
    """What a one-time link shows: the question, and the person it was made for."""

    view: QuestionView
    person_id: str
    person_name: str
    revision: int

    @property
    def is_current(self) -> bool:
        """The words the link was sent with are still the question's."""
        return self.revision == self.view.question.revision


def for_others(question: Question) -> Question:
    """What the asker keeps for itself is not theirs, and a secret is not repeated to any screen."""
    answer = None if question.wording.secret else question.answer
    return replace(question, answer=answer, state=None, key=None, resume=None)


# ---- the same as it is written ----


def _is_none(value: object) -> bool:
    return value is None


def _is_empty(value: Sequence[object]) -> bool:
    return not value


class AnswerFileBody(Shape):
    upload_id: str = Field(description="Of `GET /v1/uploads/{upload_id}`; a message of the asker's may carry it on.")
    name: str
    media_type: str
    size: int


class AnswerBody(Shape):
    value: str | None = Field(description="Of the option that was chosen; approve or deny.")
    text: str | None = Field(description="In the person's own words.")
    selected: list[str] = Field(description="Of several options.")
    fields: dict[str, Any] = Field(description="Of a form.")
    files: list[AnswerFileBody] = Field(
        default=[], exclude_if=_is_empty, description="What came with it; left out when nothing did."
    )


class AnsweredByBody(Shape):
    person_id: str
    name: str
    channel: str
    assurance: str


class PresentationBody(Shape):
    channel: str
    person: str
    status: str
    reason: str | None = Field(default=None, exclude_if=_is_none)


class OptionBody(Shape):
    value: str
    label: str
    description: str | None


class AskedPersonBody(Shape):
    person_id: str
    name: str


class AskedBody(Shape):
    """What the person reads, and who asks."""

    question: str
    kind: Literal["text", "choice", "approve", "form"]
    context: str | None
    format: Literal["plain", "markdown"] = Field(description="Of the question and its context.")
    options: list[OptionBody]
    multiple: bool
    form: dict[str, Any] | None
    allow_text: bool
    secret: bool
    urgency: str
    asked_by: str
    asked_at: str
    to: list[AskedPersonBody]
    revision: int
    reason: str | None = Field(description="Why it ended, when no person ended it.")


class AskBody(Shape):
    """For MCP, REST, the command line, webhooks and streams alike; what a caller may not see is not in their view."""

    status: _Status
    ask_id: str
    idempotency_key: str | None
    joined: bool = Field(description="The call made nothing new: the question was there before.")
    answer: AnswerBody | None
    answered_by: AnsweredByBody | None
    answered_at: str | None
    expires_at: str
    presentations: list[PresentationBody]
    state: Any = Field(description="What the asker gave, as it came.")
    next: str = Field(description="What to do now, in a sentence.")
    asked: AskedBody | None = Field(
        default=None, exclude_if=_is_none, description="Left out where the asker alone is told."
    )


class AskPage(Shape):
    asks: list[AskBody]
    next_cursor: str | None


class AnswersBody(Shape):
    answers: list[AskBody]
    cursor: str = Field(description="Where the next page begins.")


def ask_body(view: QuestionView) -> AskBody:
    """For agents: what became of it."""
    question, by = view.question, view.question.answered_by
    return AskBody(
        status=question.status.value,
        ask_id=question.id,
        idempotency_key=question.key,
        joined=view.joined,
        answer=AnswerBody.model_validate(question.answer) if question.answer else None,
        answered_by=AnsweredByBody.model_validate(by) if by else None,
        answered_at=to_text(question.ended_at_us) if by and question.ended_at_us is not None else None,
        expires_at=to_text(question.expires_at_us),
        presentations=[_presentation(question, one) for one in view.presentations],
        state=question.state,
        next=next_sentence(question, view.presentations),
    )


def shown_body(view: QuestionView) -> AskBody:
    """For those who look at questions that they have not asked themselves: also what was asked."""
    body = ask_body(view)
    body.asked = _asked(view.question)
    return body


def _asked(question: Question) -> AskedBody:
    wording = question.wording
    return AskedBody(
        question=wording.question,
        kind=wording.kind.value,
        context=wording.context,
        format=wording.format.value,
        options=[OptionBody.model_validate(one) for one in wording.options],
        multiple=wording.multiple,
        form=dict(wording.form) if wording.form else None,
        allow_text=wording.allow_text,
        secret=wording.secret,
        urgency=question.urgency.value,
        asked_by=question.asker,
        asked_at=to_text(question.created_at_us),
        to=[AskedPersonBody(person_id=person.id, name=person.name) for person in question.people],
        revision=question.revision,
        reason=question.reason,
    )


def _presentation(question: Question, one: Presentation) -> PresentationBody:
    status = _NOT_SHOWN if _is_not_shown(one) else one.status.value
    person = _name(question, one.person_id)
    return PresentationBody(channel=one.channel, person=person, status=status, reason=one.reason or None)


def next_sentence(question: Question, shown: Sequence[Presentation]) -> str:
    """What a model should do now; it always says whether a person acted."""
    name = question.answered_by.name if question.answered_by else "a person"
    match question.status:
        case QuestionStatus.OPEN:
            return _while_open(question, shown)
        case QuestionStatus.ANSWERED if question.wording.secret and question.answer is None:
            return f"{name} answered. The secret is handed out by wait, and is not shown here."
        case QuestionStatus.ANSWERED:
            return f"{name} answered. Go on with this answer; do not ask again."
        case QuestionStatus.DECLINED:
            return f"{name} would rather not answer. Go on without it; do not ask again and do not make up an answer."
        case QuestionStatus.EXPIRED if question.answered_by == BY_DEFAULT:
            return "No person answered in time: the answer is the default that was given with the question."
        case QuestionStatus.EXPIRED:
            return "No person answered in time. This is neither a yes nor a no; do not make up an answer."
        case QuestionStatus.CANCELLED:
            return "The question was cancelled before a person answered. This is neither a yes nor a no."
        case QuestionStatus.SUPERSEDED:
            return "Another question took its place. No person answered this one."


def _while_open(question: Question, shown: Sequence[Presentation]) -> str:
    if not shown or not all(_is_not_shown(one) for one in shown):
        return _STILL_OPEN
    reasons = "; ".join(f"{_name(question, one.person_id)}: {one.reason}" for one in shown)
    return (
        f"No person could be shown this question ({reasons}). It waits in the console until it expires; "
        "say so instead of asking again, and do not make up an answer."
    )


def _is_not_shown(one: Presentation) -> bool:
    """It could not be, or something holds it up: then the reason says what."""
    return one.status is PresentationStatus.FAILED or (one.status is PresentationStatus.PLANNED and bool(one.reason))


def _name(question: Question, person_id: str) -> str:
    return next((person.name for person in question.people if person.id == person_id), person_id)
