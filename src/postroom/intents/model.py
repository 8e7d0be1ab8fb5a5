"""What an intent is, and the one table of moves it may make."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any, Final, Literal

from postroom.kernel.values.errors import Code, Refused
from postroom.kernel.values.fields import storable, without_none
from postroom.kernel.values.ids import to_text
from postroom.message.inbound import Assurance
from postroom.message.wishes import APPROVE, DENY
from postroom.questions.model import (
    AnsweredBy,
    Question,
    QuestionAnswer,
    QuestionChange,
    QuestionMove,
    Subject,
    SubjectKind,
    ended,
)

ASK: Final = "intent.ask.v1"
REPLY: Final = "intent.reply.v1"
APPROVAL: Final = "macro.approval.v1"
ORIGIN: Final = "intents"  # the sender of what the gateway sends
MAX_ANSWER_CHARACTERS: Final = 5000
MAX_STEPS: Final = 100


class IntentStatus(StrEnum):
    CREATED = "CREATED"
    SUBMITTED = "SUBMITTED"  # durably stored
    DELIVERED = "DELIVERED"
    ACKNOWLEDGED = "ACKNOWLEDGED"
    IN_PROGRESS = "IN_PROGRESS"
    WAITING = "WAITING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELED = "CANCELED"
    TIMED_OUT = "TIMED_OUT"


class WaitingReason(StrEnum):
    HUMAN = "WAITING_FOR_HUMAN"
    TOOL = "WAITING_FOR_TOOL"
    AGENT = "WAITING_FOR_AGENT"
    TIME = "WAITING_FOR_TIME"


class IntentEventType(StrEnum):
    CREATED = "intent.created"
    SUBMITTED = "intent.submitted"
    DELIVERED = "intent.delivered"
    ACKNOWLEDGED = "intent.acknowledged"
    IN_PROGRESS = "intent.in_progress"
    WAITING = "intent.waiting"
    COMPLETED = "intent.completed"
    FAILED = "intent.failed"
    CANCELED = "intent.canceled"
    TIMED_OUT = "intent.timed_out"
    TRANSFER = "intent.transfer"
    REMINDER = "intent.reminder"
    ESCALATED = "intent.escalated"
    DELIVERY_FAILED = "intent.delivery_failed"
    MESSAGE = "intent.message"  # said in a thread that was over


_S = IntentStatus
_ENDS: Final = (_S.FAILED, _S.CANCELED, _S.TIMED_OUT)
TRANSITIONS: Final[dict[IntentStatus, tuple[IntentStatus, ...]]] = {
    _S.CREATED: (_S.SUBMITTED,),
    _S.SUBMITTED: (_S.IN_PROGRESS, _S.DELIVERED, _S.WAITING, *_ENDS),
    _S.DELIVERED: (_S.IN_PROGRESS, _S.ACKNOWLEDGED, _S.WAITING, *_ENDS),
    _S.ACKNOWLEDGED: (_S.IN_PROGRESS, _S.WAITING, *_ENDS),
    _S.IN_PROGRESS: (_S.WAITING, _S.COMPLETED, *_ENDS),
    _S.WAITING: (_S.IN_PROGRESS, *_ENDS),
    _S.COMPLETED: (),
    _S.FAILED: (),
    _S.CANCELED: (),
    _S.TIMED_OUT: (),
}
TERMINAL: Final = frozenset(status for status, after in TRANSITIONS.items() if not after)

# The receipt speaks the specification's four words; the full status stands beside them.
ReceiptWord = Literal["accepted", "running", "done", "failed"]
RECEIPT: Final[dict[IntentStatus, ReceiptWord]] = {
    _S.CREATED: "accepted",
    _S.SUBMITTED: "accepted",
    _S.DELIVERED: "running",
    _S.ACKNOWLEDGED: "running",
    _S.IN_PROGRESS: "running",
    _S.WAITING: "running",
    _S.COMPLETED: "done",
    _S.FAILED: "failed",
    _S.CANCELED: "failed",
    _S.TIMED_OUT: "failed",
}


Folder = Literal["pending", "active", "done"]
FOLDERS: Final[dict[Folder, tuple[IntentStatus, ...]]] = {
    "pending": (_S.CREATED, _S.SUBMITTED, _S.DELIVERED),
    "active": (_S.ACKNOWLEDGED, _S.IN_PROGRESS, _S.WAITING),
    "done": (_S.COMPLETED, _S.FAILED, _S.CANCELED, _S.TIMED_OUT),
}
UNANSWERED: Final = (_S.SUBMITTED, _S.DELIVERED, _S.ACKNOWLEDGED)
_REACHED: Final = (_S.DELIVERED, _S.ACKNOWLEDGED, _S.IN_PROGRESS)  # by somebody


def steps_to(status: IntentStatus, goal: IntentStatus) -> tuple[IntentStatus, ...]:
    """
    The moves from one status to another, each of them in the table.

    An answer may come before anybody noted that work began, so the move in
    between is made, and the log stays legal. Raises Refused when there is no way.
    """
    if goal in TRANSITIONS[status]:
        return (goal,)
    between = _S.IN_PROGRESS
    if goal is _S.COMPLETED and between in TRANSITIONS[status]:
        return (between, goal)
    raise Refused(Code.ILLEGAL_TRANSITION, f"an intent that is {status} cannot become {goal}")


def event_of(status: IntentStatus) -> IntentEventType:
    return IntentEventType(f"intent.{status.lower()}")


class StepKind(StrEnum):
    ASK = "ask"
    REMIND = "remind"
    ESCALATE = "escalate"
    EXPIRE = "expire"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reminders:
    """What a sender may order for a plain ask, without a macro."""

    remind_after_seconds: int | None = None
    remind_interval_seconds: int | None = None
    max_reminders: int | None = None
    escalate_to: str | None = None


NO_REMINDERS: Final = Reminders()


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do for an intent that is still open at that moment."""

    kind: StepKind
    at_us: int
    to_agent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentIntent:
    id: str
    intent_type: str
    correlation_id: str
    from_agent: str
    to_agent: str
    handler: str
    payload: Mapping[str, Any]
    metadata: Mapping[str, str]
    idempotency_key: str | None
    fingerprint: str
    submitted_by: str
    reply_to: str | None
    deadline_at_us: int | None
    macro_id: str | None
    status: IntentStatus
    waiting_reason: WaitingReason | None
    seq: int
    plan: tuple[Step, ...]
    position: int
    next_at_us: int | None
    carried: bool  # a delivery is under way whose end nobody here has seen
    result: Mapping[str, Any] | None
    created_at_us: int
    updated_at_us: int

    @property
    def is_open(self) -> bool:
        return self.status not in TERMINAL

    @property
    def legacy_status(self) -> ReceiptWord:
        return RECEIPT[self.status]

    @property
    def remind_count(self) -> int:
        return sum(step.kind is StepKind.REMIND for step in self.plan[: self.position])

    @property
    def text(self) -> str:
        """What was said, whichever kind it is."""
        return str(self.payload.get("question") or self.payload.get("answer") or "")

    @property
    def asked(self) -> frozenset[str]:
        """Everybody this intent was put to: they may answer. An approval is put to its approver alone."""
        steps = self.plan[: max(self.position, 1)]
        first = self.plan[0].to_agent if self.macro_id == APPROVAL else self.to_agent
        return frozenset({first, self.handler, *(one.to_agent for one in steps if one.kind in _ASKING)})

    @property
    def concerned(self) -> frozenset[str]:
        """Whoever hears of it: the sender, who was asked or is about to be, and who wants the answer."""
        about_to_be = {step.to_agent for step in self.plan if step.kind is StepKind.ASK}
        others = {self.from_agent, self.to_agent, *([self.reply_to] if self.reply_to else [])}
        return self.asked | about_to_be | others


_ASKING = frozenset({StepKind.ASK, StepKind.ESCALATE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """What an event says besides, each of what concerns it."""

    status: str | None = None
    decision: str | None = None
    undecided: bool | None = None
    clarification_question: str | None = None
    delegate_to: str | None = None
    note: str | None = None
    to_agent: str | None = None
    code: str | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenAnswer:
    """What somebody answered; `status` is the word of a reply, `decision` is there where it was to be decided."""

    answer: str
    status: str
    responded_by: str
    responded_at: str
    clarification_question: str | None = None
    decision: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IntentEnding:
    """How a caller ends an intent: COMPLETED with a result, FAILED with an error, CANCELED, for a reason or none."""

    goal: IntentStatus
    result: Mapping[str, Any] = field(default_factory=dict)  # as the caller has it, and so is `error`
    error: Mapping[str, Any] = field(default_factory=dict)
    reason: str | None = None


def document(said: Details | GivenAnswer) -> dict[str, Any]:
    """As it is kept with the intent and shown."""
    return without_none(asdict(said))


@dataclass(frozen=True, slots=True, kw_only=True)
class IntentEvent:
    """Something that happened to an intent; `seq` counts from 1 without a gap."""

    id: str
    intent_id: str
    seq: int
    event_type: IntentEventType
    status: IntentStatus
    at_us: int
    actor: str | None = None
    waiting_reason: WaitingReason | None = None
    payload: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadMessage:
    """What somebody said in a thread."""

    id: str
    author: str
    message: str
    at_us: int


@dataclass(frozen=True, slots=True)
class AddedMessage:
    author: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IntentChange:
    """An intent as it becomes, and the events that tell of it."""

    intent: AgentIntent
    events: tuple[IntentEvent, ...]
    says: AddedMessage | None = None  # a message somebody added to the thread


# What an agent asks a person through an intent, as a question; and how the intent's end ends it.


_DECISIONS: Final = {"approved": APPROVE, "rejected": DENY}
_ELSEWHERE: Final = "api"


def subject_of(intent_id: str) -> Subject:
    return Subject(SubjectKind.INTENT, intent_id)


def agent_of(question: Question) -> str:
    """The address under which the person was asked."""
    return str(question.state["agent"]) if isinstance(question.state, Mapping) else ""


def ended_by(question: Question, intent: AgentIntent) -> QuestionChange:
    """It was answered another way, or is not asked any more; every card says so."""
    at_us = intent.updated_at_us
    if not question.is_open:
        return QuestionChange(question=question)
    if intent.status is IntentStatus.TIMED_OUT:
        return ended(question, QuestionMove.EXPIRE, at_us)
    if intent.status is not IntentStatus.COMPLETED:
        return ended(question, QuestionMove.CANCEL, at_us)
    return ended(question, QuestionMove.ANSWER, at_us, answer=_answer(intent), answered_by=_answerer(question, intent))


def _answer(intent: AgentIntent) -> QuestionAnswer:
    result = intent.result or {}
    decision = _DECISIONS.get(str(result.get("decision")))
    return QuestionAnswer(value=decision) if decision else QuestionAnswer(text=str(result.get("answer") or ""))


def _answerer(question: Question, intent: AgentIntent) -> AnsweredBy:
    agent = str((intent.result or {}).get("responded_by") or intent.handler)
    own = agent == agent_of(question) and question.people
    return AnsweredBy(
        person_id=question.people[0].id if own else agent,
        name=question.people[0].name if own else agent.rpartition("/")[2],
        channel=_ELSEWHERE,
        assurance=Assurance.CHANNEL,
    )


def asked_at_once(intent: AgentIntent, now_us: int) -> AgentIntent:
    """Where nobody is reached, whoever is to be asked next is asked now, and nobody is reminded before."""
    rest = intent.plan[intent.position :]
    following = next((step for step in rest if step.kind in _ASKING), None)
    if following is None or intent.carried or intent.status in _REACHED:
        return intent
    sooner = replace(following, at_us=min(following.at_us, now_us))
    plan = (*intent.plan[: intent.position], sooner, *rest[rest.index(following) + 1 :])
    return replace(intent, plan=plan, next_at_us=sooner.at_us)


# Moves of an intent: each change with the events that tell of it, and what an answer makes of an ask.


@dataclass(frozen=True, slots=True)
class MoveContext:
    """When, by whom, and where new ids come from."""

    now_us: int
    actor: str
    mint: Callable[[int], str]


def opened(intent: AgentIntent, moment: MoveContext) -> IntentChange:
    """Created and stored are two events of one commit."""
    created = _event(intent, 1, IntentEventType.CREATED, IntentStatus.CREATED, moment)
    stored = _event(intent, 2, IntentEventType.SUBMITTED, IntentStatus.SUBMITTED, moment)
    return IntentChange(intent=replace(intent, seq=2, status=IntentStatus.SUBMITTED), events=(created, stored))


def moved(
    intent: AgentIntent,
    goal: IntentStatus,
    moment: MoveContext,
    *,
    details: Details | None = None,
    waiting_reason: WaitingReason | None = None,
    result: Mapping[str, Any] | None = None,
    says: AddedMessage | None = None,
) -> IntentChange:
    """Raises Refused on a move the table does not have."""
    events: list[IntentEvent] = []
    for status in steps_to(intent.status, goal):
        last = status is goal
        reason = waiting_reason if status is IntentStatus.WAITING else None
        event = _event(intent, intent.seq + 1, event_of(status), status, moment, reason, details if last else None)
        events.append(event)
        intent = replace(intent, status=status, seq=event.seq, waiting_reason=reason)
    after = replace(
        intent,
        updated_at_us=moment.now_us,
        result=result if result is not None else intent.result,
        next_at_us=intent.next_at_us if intent.is_open else None,
        # whoever wants the answer sent on has it sent by the loop
        carried=intent.carried or (goal is IntentStatus.COMPLETED and intent.reply_to is not None),
    )
    return IntentChange(intent=after, events=tuple(events), says=says)


def noted(
    intent: AgentIntent, event_type: IntentEventType, moment: MoveContext, details: Details | None = None
) -> IntentChange:
    """Something happened that changes no status."""
    event = _event(intent, intent.seq + 1, event_type, intent.status, moment, intent.waiting_reason, details)
    return IntentChange(intent=replace(intent, seq=event.seq, updated_at_us=moment.now_us), events=(event,))


def unchanged(intent: AgentIntent) -> IntentChange:
    return IntentChange(intent=intent, events=())


def then(first: IntentChange, second: Callable[[AgentIntent], IntentChange]) -> IntentChange:
    """One after the other, in one commit."""
    after = second(first.intent)
    return IntentChange(intent=after.intent, events=(*first.events, *after.events), says=after.says or first.says)


def _event(
    intent: AgentIntent,
    seq: int,
    event_type: IntentEventType,
    status: IntentStatus,
    moment: MoveContext,
    reason: WaitingReason | None = None,
    details: Details | None = None,
) -> IntentEvent:
    return IntentEvent(
        id=moment.mint(moment.now_us),
        intent_id=intent.id,
        seq=seq,
        event_type=event_type,
        status=status,
        at_us=moment.now_us,
        actor=moment.actor,
        waiting_reason=reason,
        payload=document(details) if details else {},
    )


# What an answer makes of an ask.

# The words the question itself names; questions that left before these stood on them said "yes" or "no".
APPROVE_WORD: Final = "approve"
REJECT_WORD: Final = "reject"
_APPROVES: Final = frozenset([APPROVE_WORD, "yes"])
_REJECTS: Final = frozenset([REJECT_WORD, "no"])


def given_answer(text: str, moment: MoveContext, status: str = "answered") -> GivenAnswer:
    return GivenAnswer(answer=text, status=status, responded_by=moment.actor, responded_at=to_text(moment.now_us))


def answered(ask: AgentIntent, given: GivenAnswer, moment: MoveContext) -> IntentChange:
    """What an answer makes of an ask that is still open; who gave it is who acts, whatever it claims."""
    if given.status == "needs_clarification":
        return _asked_back(ask, given, moment)
    if ask.macro_id == APPROVAL and given.status == "declined":
        return decided(ask, approve=False, comment=given.answer, moment=moment)
    if ask.macro_id == APPROVAL and given.status == "answered":
        return _decided_by_words(ask, given.answer, moment)
    goal = IntentStatus.TIMED_OUT if given.status == "timeout" else IntentStatus.COMPLETED
    says, result = AddedMessage(moment.actor, given.answer), document(replace(given, responded_by=moment.actor))
    return moved(ask, goal, moment, details=Details(status=given.status), result=result, says=says)


def _decided_by_words(intent: AgentIntent, text: str, moment: MoveContext) -> IntentChange:
    """Only the exact word decides; anything else is kept and the question stays open."""
    word = text.casefold().strip(" .!")
    if word not in _APPROVES | _REJECTS:
        return undecided(intent, text, moment)
    return decided(intent, approve=word in _APPROVES, comment=text, moment=moment)


def undecided(intent: AgentIntent, text: str, moment: MoveContext) -> IntentChange:
    """Words that are kept and decide nothing."""
    seen = unchanged(intent)
    if intent.status is not IntentStatus.IN_PROGRESS:
        seen = moved(intent, IntentStatus.IN_PROGRESS, moment, details=Details(undecided=True))
    return IntentChange(intent=seen.intent, events=seen.events, says=AddedMessage(moment.actor, text))


def said_after(intent: AgentIntent, text: str, moment: MoveContext) -> IntentChange:
    """Words in a thread that is over, of any of those it concerns; they change nothing in it."""
    change = noted(intent, IntentEventType.MESSAGE, moment)
    return replace(change, says=AddedMessage(moment.actor, text))


def decided(intent: AgentIntent, *, approve: bool, comment: str, moment: MoveContext) -> IntentChange:
    decision, status = ("approved", "answered") if approve else ("rejected", "declined")
    result = document(replace(given_answer(comment or decision, moment, status), decision=decision))
    says = AddedMessage(moment.actor, comment or decision)
    return moved(intent, IntentStatus.COMPLETED, moment, details=Details(decision=decision), result=result, says=says)


def butler_answered(intent: AgentIntent, words: str, moment: MoveContext) -> IntentChange:
    """The last thing a butler's session said is its answer."""
    given = given_answer(storable((words or "done")[:MAX_ANSWER_CHARACTERS]), moment)
    says = AddedMessage(moment.actor, given.answer)
    return moved(intent, IntentStatus.COMPLETED, moment, result=document(given), says=says)


def failed(
    intent: AgentIntent, goal: IntentStatus, code: Code | str, message: str, moment: MoveContext
) -> IntentChange:
    details = Details(code=str(code), message=message)
    return moved(intent, goal, moment, details=details, result={"error": document(details)})


def ended_by_caller(intent: AgentIntent, ending: IntentEnding, moment: MoveContext) -> IntentChange:
    """The last event says the same as the result; who is said to have answered is who acts."""
    match ending.goal:
        case IntentStatus.COMPLETED:
            result = {**ending.result, "responded_by": moment.actor}
        case IntentStatus.FAILED:
            result = {"error": ending.error, "reason": ending.reason}
        case _:
            result = {"reason": ending.reason}
    answer = result.get("answer")
    says = AddedMessage(moment.actor, answer) if isinstance(answer, str) else None
    change = moved(intent, ending.goal, moment, result=result, says=says)
    return replace(change, events=(*change.events[:-1], replace(change.events[-1], payload=result)))


def undeliverable(intent: AgentIntent, code: Code | str, message: str, moment: MoveContext) -> IntentChange:
    """It did not get somewhere, and goes on."""
    details = Details(code=str(code), message=message)
    return noted(intent, IntentEventType.DELIVERY_FAILED, moment, details)


def _asked_back(ask: AgentIntent, given: GivenAnswer, moment: MoveContext) -> IntentChange:
    working = unchanged(ask)
    if ask.status is IntentStatus.WAITING:
        working = moved(ask, IntentStatus.IN_PROGRESS, moment)
    return then(
        working,
        lambda found: moved(
            found,
            IntentStatus.WAITING,
            moment,
            waiting_reason=WaitingReason.AGENT,
            details=Details(clarification_question=given.clarification_question),
            says=AddedMessage(moment.actor, given.answer),
        ),
    )
