"""A question to people: what it asks and whom, where it is shown, what they did about it, and its moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

from postroom.kernel.values.ids import seconds
from postroom.message.attachment import Attachment
from postroom.message.delivery import Format
from postroom.message.inbound import Assurance, Flag
from postroom.message.wishes import ALLOW, APPROVE, DENY, REASON_WORDS, Because, Urgency

RATHER_NOT: Final = "Rather not"  # the button, and the word, that declines


# ---- what is asked ----


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
class QuestionAnswer:
    """`value` of one option, `selected` of several, `text` in the person's words, `fields` of a form."""

    value: str | None = None
    text: str | None = None
    selected: tuple[str, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)
    files: tuple[Attachment, ...] = ()
    """What came with the answer, as uploads of the asker's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredBy:
    """Who acted, as it was attested; never what a payload claims."""

    person_id: str
    name: str
    channel: str
    assurance: Assurance


BY_DEFAULT: Final = AnsweredBy(
    person_id="system:default", name="the default", channel="system", assurance=Assurance.NONE
)


class QuestionStatus(StrEnum):
    OPEN = "open"
    ANSWERED = "answered"
    DECLINED = "declined"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    SUPERSEDED = "superseded"


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
    created_at_us: int
    expires_at_us: int
    ended_at_us: int | None = None
    reminded_at_us: int | None = None
    escalated_at_us: int | None = None
    collected_at_us: int | None = None  # when the asker first had its end
    reckoned_by: int | None = None  # whose quiet hours its times were counted by, as a number

    @property
    def is_open(self) -> bool:
        return self.status is QuestionStatus.OPEN

    def asks(self, person_id: str) -> bool:
        return any(person.id == person_id for person in self.people)


def is_approval(question: Question) -> bool:
    return question.subject is not None and question.subject.kind is SubjectKind.APPROVAL


# ---- where it is shown: one presentation for each person and channel ----


class Hold(StrEnum):
    """What holds a card up, or kept it from being shown at all."""

    QUIET = "quiet"
    IN_LINE = "in_line"
    APPROVAL = "approval"
    AWAY = "away"
    ENDED = "ended"


HOLD_WORDS: Final = {
    Hold.QUIET: REASON_WORDS[Because.QUIET],
    Hold.IN_LINE: "other approvals are to be decided first",
    Hold.APPROVAL: "waits for an approval",
    Hold.AWAY: "the channel does not work at the moment",
    Hold.ENDED: "the question ended before it was shown",
}


class PresentationStatus(StrEnum):
    PLANNED = "planned"
    SHOWN = "shown"
    UNCERTAIN = "uncertain"
    FAILED = "failed"
    CLOSING = "closing"
    CLOSED = "closed"
    LEFT = "left"


@dataclass(frozen=True, slots=True, kw_only=True)
class Presentation:
    """
    `revision` is the wording the card shows, 0 as long as there is none. `provider_ids` are those of
    all parts of the message, and `toggles` what is ticked in a multiple choice. `failure` is what a channel or the
    way to it said.
    """

    id: str
    question_id: str
    person_id: str
    channel: str
    address: str
    status: PresentationStatus = PresentationStatus.PLANNED
    revision: int = 0
    delivery_id: str | None = None
    provider_ids: tuple[str, ...] = ()
    hold: Hold | None = None
    failure: str | None = None
    toggles: tuple[str, ...] = ()
    due_at_us: int | None = None  # when there is something to do about it
    created_at_us: int
    updated_at_us: int

    @property
    def reason(self) -> str | None:
        """Why it is not where it is to be, in words."""
        return HOLD_WORDS[self.hold] if self.hold else self.failure


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedPresentation:
    """
    Where one person is to be shown a question; with `failure`, why that cannot be done.

    `after_seconds`: so much later, if no one has answered by then.
    """

    person_id: str
    channel: str
    address: str
    failure: str | None = None
    after_seconds: float = 0

    def under(self, id: str, question_id: str, now_us: int) -> Presentation:
        """As it begins."""
        return Presentation(
            id=id,
            question_id=question_id,
            person_id=self.person_id,
            channel=self.channel,
            address=self.address,
            status=PresentationStatus.PLANNED if self.failure is None else PresentationStatus.FAILED,
            failure=self.failure,
            due_at_us=now_us + seconds(self.after_seconds) if self.failure is None else None,
            created_at_us=now_us,
            updated_at_us=now_us,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PresentationClaim:
    """The right to work on a presentation until the lease runs out; a newer claim has a higher fence."""

    presentation: Presentation
    question: Question
    fence: int

    @property
    def taken_up(self) -> bool:
        """An earlier claim was not settled: its message may be on its way."""
        return self.presentation.status is PresentationStatus.PLANNED and self.fence > 1


_SEEN: Final = (PresentationStatus.SHOWN, PresentationStatus.CLOSING, PresentationStatus.CLOSED)


def was_seen(one: Presentation) -> bool:
    """It has arrived where the person is, whatever became of it then."""
    return one.status in _SEEN or is_left_open(one)


def is_left_open(one: Presentation) -> bool:
    """It was shown, and could not be closed."""
    return one.status is PresentationStatus.LEFT and one.revision > 0 and one.hold is not Hold.ENDED


class TokenAction(StrEnum):
    """What a button on a card does."""

    OPTION = "option"
    TOGGLE = "toggle"
    SEND = "send"  # ends a multiple choice
    OTHER = "other"  # wants to answer in own words
    DECLINE = "decline"
    OPEN = "open"  # leads to the page or the console


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """One button of one card; only the hash of it is kept."""

    hash: str
    presentation_id: str
    action: TokenAction
    option: str | None
    revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PressedToken:
    """What a token that came back stands for."""

    token: Token
    presentation: Presentation


# ---- the moves of both ----


class QuestionMove(StrEnum):
    REVISE = "revise"  # another wording; what was pressed under the old one no longer counts
    ANSWER = "answer"
    DECLINE = "decline"  # a person would rather not say
    EXPIRE = "expire"
    CANCEL = "cancel"  # the asker no longer wants to know
    SUPERSEDE = "supersede"  # another question took its place


QUESTION_MOVES: Final[dict[tuple[QuestionStatus, QuestionMove], QuestionStatus]] = {
    (QuestionStatus.OPEN, QuestionMove.REVISE): QuestionStatus.OPEN,
    (QuestionStatus.OPEN, QuestionMove.ANSWER): QuestionStatus.ANSWERED,
    (QuestionStatus.OPEN, QuestionMove.DECLINE): QuestionStatus.DECLINED,
    (QuestionStatus.OPEN, QuestionMove.EXPIRE): QuestionStatus.EXPIRED,
    (QuestionStatus.OPEN, QuestionMove.CANCEL): QuestionStatus.CANCELLED,
    (QuestionStatus.OPEN, QuestionMove.SUPERSEDE): QuestionStatus.SUPERSEDED,
}
ENDED: Final = frozenset(QuestionStatus) - {before for before, _ in QUESTION_MOVES}


class PresentationMove(StrEnum):
    SHOW = "show"
    DOUBT = "doubt"  # it may have arrived
    FAIL = "fail"  # it cannot be shown, or is gone from where it was
    DROP = "drop"  # the question ended before it was shown
    END = "end"  # the question is over, the card not yet
    CLOSE = "close"
    LEAVE = "leave"  # the card cannot be changed any more


PRESENTATION_MOVES: Final[dict[tuple[PresentationStatus, PresentationMove], PresentationStatus]] = {
    (PresentationStatus.PLANNED, PresentationMove.SHOW): PresentationStatus.SHOWN,
    (PresentationStatus.PLANNED, PresentationMove.DOUBT): PresentationStatus.UNCERTAIN,
    (PresentationStatus.PLANNED, PresentationMove.FAIL): PresentationStatus.FAILED,
    (PresentationStatus.PLANNED, PresentationMove.DROP): PresentationStatus.LEFT,
    (PresentationStatus.UNCERTAIN, PresentationMove.SHOW): PresentationStatus.SHOWN,
    (PresentationStatus.UNCERTAIN, PresentationMove.FAIL): PresentationStatus.FAILED,
    (PresentationStatus.UNCERTAIN, PresentationMove.END): PresentationStatus.CLOSING,
    (PresentationStatus.SHOWN, PresentationMove.FAIL): PresentationStatus.FAILED,
    (PresentationStatus.SHOWN, PresentationMove.END): PresentationStatus.CLOSING,
    (PresentationStatus.CLOSING, PresentationMove.CLOSE): PresentationStatus.CLOSED,
    (PresentationStatus.CLOSING, PresentationMove.LEAVE): PresentationStatus.LEFT,
}
PASSED_ON: Final = frozenset({PresentationMove.DOUBT, PresentationMove.FAIL})  # what is next does not wait for it
SETTLED: Final = frozenset(PresentationStatus) - {before for before, _ in PRESENTATION_MOVES}


def after(status: QuestionStatus, move: QuestionMove) -> QuestionStatus:
    """Raises KeyError on a move that is not in the table: that is a bug, not an outcome."""
    return QUESTION_MOVES[status, move]


def after_showing(status: PresentationStatus, move: PresentationMove) -> PresentationStatus:
    """The same for a presentation."""
    return PRESENTATION_MOVES[status, move]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """How showing or closing went; `revision` is the wording that the card has now, `delivery_id` its message."""

    move: PresentationMove
    delivery_id: str | None = None
    revision: int = 0
    provider_ids: Sequence[str] = ()
    hold: Hold | None = None
    failure: str | None = None


# ---- what a person did about it ----


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """
    Exactly one of these; a `toggle` ticks or unticks one option and `send` ends the ticking.

    `comment`, `details` and `files` are said beside it: they are kept with the answer and decide nothing.
    """

    value: str | None = None
    text: str | None = None
    selected: tuple[str, ...] | None = None
    fields: Mapping[str, Any] | None = None
    declined: bool = False
    toggle: str | None = None
    send: bool = False
    comment: str | None = None
    details: Mapping[str, Any] | None = None
    files: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """
    `person_id` is whom the channel's own proof names, None when it names no one we know.

    `actor` is the principal behind a token, `operator` the console's. `said_at_us` is the provider's time, when the
    provider dates what it brings. `revision` is the wording the person had before them; without it, the card's.
    """

    id: str
    question_id: str
    channel: str
    provider_event_id: str
    said: Said
    heard_at_us: int
    person_id: str | None = None
    person_name: str = ""
    assurance: Assurance = Assurance.NONE
    actor: str | None = None
    operator: bool = False
    said_at_us: int | None = None
    presentation_id: str | None = None
    revision: int | None = None
    flags: frozenset[Flag] = frozenset()


class VerdictKind(StrEnum):
    ACCEPTED = "accepted"
    NOT_YET = "not_yet"  # ticked, nothing decided
    LATE = "late"
    LOST_RACE = "lost_race"
    INVALID = "invalid"
    UNAUTHORISED = "unauthorised"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """`reason` is a sentence for the person who tried; `code` is for programs."""

    kind: VerdictKind
    code: str = ""
    reason: str = ""
    answer: QuestionAnswer | None = None
    declined: bool = False
    toggles: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """The verdict, and the question as it left it; `repeated` when this very event had been heard before."""

    verdict: Verdict
    question: Question
    repeated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptAttempt:
    """An attempt as it is kept, with its verdict; of a secret the words are not."""

    attempt: Attempt
    verdict: Verdict


# ---- its changes, and the lines they leave in the feed ----


class QuestionEventType(StrEnum):
    OPENED = "ask.opened"
    REVISED = "ask.revised"
    REMINDED = "ask.reminded"
    ESCALATED = "ask.escalated"
    ANSWERED = "ask.answered"
    DECLINED = "ask.declined"
    EXPIRED = "ask.expired"
    CANCELLED = "ask.cancelled"
    SUPERSEDED = "ask.superseded"


EVENT_OF_END: Final = {
    QuestionStatus.ANSWERED: QuestionEventType.ANSWERED,
    QuestionStatus.DECLINED: QuestionEventType.DECLINED,
    QuestionStatus.EXPIRED: QuestionEventType.EXPIRED,
    QuestionStatus.CANCELLED: QuestionEventType.CANCELLED,
    QuestionStatus.SUPERSEDED: QuestionEventType.SUPERSEDED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionChange:
    """The question as it is to be; without an event it is as it was."""

    question: Question
    event: QuestionEventType | None = None
    at_us: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionEvent:
    """One line of the feed; `position` is its place in the order of commits."""

    position: int
    question_id: str
    asker: str
    type: QuestionEventType
    at_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """A question that is over, at its place in the feed."""

    position: int
    question: Question


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """
    The question that stands for the call: new, one that was there, or (conflict) another under the same key.

    With `refused` there is none: its asker has too many open already.
    """

    question: Question
    created: bool
    conflict: bool = False
    refused: bool = False

    @property
    def joined(self) -> bool:
        return not self.created and not self.conflict and not self.refused


def ended(question: Question, move: QuestionMove, at_us: int, **changes: Any) -> QuestionChange:
    status = after(question.status, move)
    over = replace(question, status=status, ended_at_us=at_us, **changes)
    return QuestionChange(question=over, event=EVENT_OF_END[status], at_us=at_us)


def decided(question: Question, attempt: Attempt, verdict: Verdict) -> QuestionChange:
    """As the accepted attempt ends it; a person who was asked has the name under which they were."""
    names = {person.id: person.name for person in question.people}
    by = AnsweredBy(
        person_id=attempt.person_id or "",
        name=names.get(attempt.person_id or "", attempt.person_name),
        channel=attempt.channel,
        assurance=attempt.assurance,
    )
    move = QuestionMove.DECLINE if verdict.declined else QuestionMove.ANSWER
    reason = verdict.reason or question.reason
    return ended(question, move, attempt.heard_at_us, answer=verdict.answer, answered_by=by, reason=reason)
