"""A question to people: what it asks, whom, until when, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final

from postroom.domain.delivery import Format
from postroom.domain.question_answer import AnsweredBy, QuestionAnswer
from postroom.domain.question_states import ALLOW, APPROVE, DENY, QuestionStatus
from postroom.domain.risk_and_urgency import Urgency

RATHER_NOT: Final = "Rather not"  # the button, and the word, that declines


class QuestionKind(StrEnum):
    TEXT = "text"
    CHOICE = "choice"
    APPROVE = "approve"
    FORM = "form"


class Preview(StrEnum):
    """How much of it a locked screen may show."""

    FULL = "full"
    TITLE = "title"
    NONE = "none"


class Added(StrEnum):
    ASKED = "asked"
    ESCALATED = "escalated"


class SubjectKind(StrEnum):
    """What a question may be about."""

    APPROVAL = "approval"  # a parked delivery
    INTENT = "intent"


@dataclass(frozen=True, slots=True)
class Subject:
    kind: SubjectKind
    id: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}"

    @classmethod
    def parse(cls, text: str) -> Subject:
        kind, _, identifier = text.partition(":")
        return cls(SubjectKind(kind), identifier)


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    value: str
    label: str
    description: str | None = None


APPROVE_OPTIONS: Final = (Option(value=APPROVE, label="Approve"), Option(value=DENY, label="Deny"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """What a person is shown and what counts as an answer; this is what a revision replaces."""

    kind: QuestionKind
    question: str
    context: str | None = None
    options: tuple[Option, ...] = ()  # of `approve`: the two labels on its card
    multiple: bool = False
    form: Mapping[str, Any] | None = None  # a flat JSON Schema
    allow_text: bool = True
    secret: bool = False
    default: QuestionAnswer | None = None
    format: Format = Format.PLAIN  # of the question and its context
    may_decline: bool = True  # whether "rather not" is offered, and heard


def is_permission(wording: Wording) -> bool:
    """Whether one of its options lets somebody do something: such a word is said exactly, or by its button."""
    values = {option.value for option in wording.options}
    return wording.kind is QuestionKind.APPROVE or (DENY in values and bool({ALLOW, APPROVE} & values))


def wording_object(wording: Wording) -> dict[str, Any]:
    """As it is kept and compared; what came later is not in it where it says what always was."""
    content = asdict(wording)
    if wording.format is Format.PLAIN:
        del content["format"]
    if wording.may_decline:
        del content["may_decline"]
    return content


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedPerson:
    """Who may answer; fixed when the question is asked, and only ever added to."""

    id: str
    name: str
    added: Added = Added.ASKED


@dataclass(frozen=True, slots=True, kw_only=True)
class Resume:
    """The session of a butler that begins when the answer is there."""

    butler: str
    prompt: str
    material: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """
    `asker` is a principal's text. `fingerprint` is of the question as it was first
    asked, `revision_hash` of its present wording. `state` is the asker's own.
    """

    id: str
    asker: str
    key: str | None
    fingerprint: str
    wording: Wording
    people: tuple[AskedPerson, ...]
    revision_hash: str
    revision: int = 1
    channels: tuple[str, ...] | None = None  # as wished; None leaves it to the person
    urgency: Urgency = Urgency.NORMAL
    preview: Preview = Preview.FULL
    quorum: str = "any"
    state: Any = None
    remind_after_seconds: int | None = None
    escalate_to: tuple[AskedPerson, ...] = ()
    escalate_after_seconds: int | None = None
    resume: Resume | None = None
    subject: Subject | None = None
    status: QuestionStatus = QuestionStatus.OPEN
    answer: QuestionAnswer | None = None
    answered_by: AnsweredBy | None = None
    reason: str | None = None  # why it ended, when no person ended it
    superseded_by: str | None = None
    created_at_us: int
    expires_at_us: int
    ended_at_us: int | None = None
    reminded_at_us: int | None = None
    escalated_at_us: int | None = None
    collected_at_us: int | None = None  # when the asker first had its end
    next_at_us: int | None = None  # when there is something to do about it

    @property
    def is_open(self) -> bool:
        return self.status is QuestionStatus.OPEN

    def asks(self, person_id: str) -> bool:
        return any(person.id == person_id for person in self.people)
