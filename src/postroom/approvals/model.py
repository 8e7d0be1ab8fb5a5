"""What a person decides on: the exact content, its hash, the action, and the rules that stand for a decision."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from postroom.delivery.model import NewDelivery
from postroom.kernel.text.visible import DeceptiveCharacter, findings
from postroom.kernel.values.errors import FieldError
from postroom.kernel.values.fields import Document
from postroom.kernel.values.ids import DeliveryId
from postroom.kernel.values.principal import OPERATOR, OWNER
from postroom.message.attachment import Attachment, attachments_text
from postroom.message.delivery import Format, Intent, Message, Status
from postroom.message.inbound import Assurance
from postroom.message.markup import Markup, markup_text
from postroom.message.wishes import Risk
from postroom.questions.model import (
    AskedPerson,
    Attempt,
    Question,
    QuestionStatus,
    Said,
    Verdict,
    VerdictKind,
    is_approval,
)

CONSOLE: Final = "console"
_PREVIEW_CHARACTERS: Final = 200
_HASH_SCHEME: Final = "approval.v1"


class ActionStatus(StrEnum):
    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"


_KINDS: Final = {
    "already_decided": VerdictKind.LOST_RACE,
    "too_late": VerdictKind.LATE,
    "unknown_action": VerdictKind.LATE,
    "not_an_approver": VerdictKind.UNAUTHORISED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """Everything that reaches the person at the other end, to the byte."""

    channel: str
    intent: Intent
    address: str
    thread: str | None
    subject: str | None
    message: str
    emoji: str | None
    markup: Markup | None = None
    format: Format = Format.PLAIN
    revises: DeliveryId | None = None
    attachments: tuple[Attachment, ...] = ()

    @property
    def hash(self) -> str:
        """A list, so that no joint is ambiguous; untrimmed, so that no byte is left out."""
        parts = [
            _HASH_SCHEME,
            self.channel,
            self.address,
            self.thread,
            self.subject,
            self.message,
            self.emoji,
            str(self.intent),
        ]
        if self.markup is not None:
            parts.append(markup_text(self.markup))
        if self.format is not Format.PLAIN:
            parts.append(f"format:{self.format}")
        if self.revises is not None:
            parts.append(f"revises:{self.revises}")
        if self.attachments:
            parts.append(f"files:{attachments_text(self.attachments)}")
        return hashlib.sha256(json.dumps(parts, ensure_ascii=False, separators=(",", ":")).encode()).hexdigest()

    @property
    def buttons(self) -> str:
        """What stands on them, in one line."""
        pressed = self.markup.every_button if self.markup else ()
        return ", ".join(f"“{' '.join(one.label.split())}”" for one in pressed)

    @property
    def preview(self) -> str:
        return self.message[:_PREVIEW_CHARACTERS]

    @property
    def shown(self) -> dict[str, str | None]:
        """What a person reads of it, by the names of a request."""
        return {
            "channel": self.channel,
            "intent": str(self.intent),
            "recipient": self.address,
            "thread": self.thread,
            "subject": self.subject,
            "message": self.message,
            "emoji": self.emoji,
            "buttons": self.buttons or None,
        }

    @property
    def warnings(self) -> list[tuple[str, DeceptiveCharacter]]:
        """What hides in it, by the name of its field."""
        return [(name, found) for name, text in self.shown.items() if text for found in findings(text)]

    def to_message(self, delivery_id: DeliveryId) -> Message:
        return Message(
            delivery_id=delivery_id,
            intent=self.intent,
            address=self.address,
            text=self.message,
            subject=self.subject,
            emoji=self.emoji,
            thread=self.thread,
            markup=self.markup,
            format=self.format,
            attachments=self.attachments,
        )


def content_of(new: NewDelivery) -> Content:
    return Content(
        channel=new.channel,
        intent=new.intent,
        address=new.address,
        thread=new.thread,
        subject=new.subject,
        message=new.message,
        emoji=new.emoji,
        markup=new.markup,
        format=new.format,
        revises=new.revises.delivery_id if new.revises else None,
        attachments=new.attachments,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Parking:
    """How a delivery is parked: how dangerous it would be to let it go, until when it waits, and who is asked where."""

    risk: Risk
    expires_at_us: int
    most_pending: int  # of one origin at a time
    people: Sequence[AskedPerson] = ()  # none where it is seen in the console and listed by the tools
    channels: Sequence[str] = (CONSOLE,)
    phone: Risk | None = None  # the highest risk that may be decided outside the console


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """
    A delivery that waits, or waited, for a decision. It bears the delivery's id.

    It waits as long as its question is open; who decided, and when and why, is read from the line of that in the trail.
    `content` is what the ledger would send now; `content_hash` is what was parked,
    or what was approved after an edit. The two differ only when somebody changed a row.
    """

    id: DeliveryId
    origin_butler: str
    request_id: str
    content: Content
    content_hash: str
    envelope: Document
    risk: Risk
    status: ActionStatus
    requested_at_us: int
    expires_at_us: int
    question_id: str | None = None  # None where a standing rule let it pass
    decided_by: str | None = None
    decided_at_us: int | None = None
    reason: str | None = None
    rule_id: str | None = None
    edited: bool = False
    delivery_status: Status = Status.AWAITING_APPROVAL
    revised: bool = False  # its sender has worded it anew since it was first parked

    @property
    def intact(self) -> bool:
        return self.content.hash == self.content_hash


class ConstraintKind(StrEnum):
    EXACT = "exact"
    PATTERN = "pattern"
    ANY = "any"


@dataclass(frozen=True, slots=True)
class Constraint:
    kind: ConstraintKind
    value: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingRule:
    """A decision taken in advance by a person."""

    id: str
    constraints: Mapping[str, Constraint]
    description: str
    created_by: str
    created_at_us: int
    created_from: DeliveryId | None = None
    expires_at_us: int | None = None
    max_uses: int | None = None
    use_count: int = 0
    revoked_by: str | None = None
    revoked_at_us: int | None = None

    @property
    def bounded(self) -> bool:
        return self.expires_at_us is not None or self.max_uses is not None

    def active(self, now_us: int) -> bool:
        spent = self.max_uses is not None and self.use_count >= self.max_uses
        late = self.expires_at_us is not None and self.expires_at_us <= now_us
        return self.revoked_at_us is None and not spent and not late


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalDecision:
    """What becomes of a pending action. `content` is what was agreed to, after any edit."""

    status: ActionStatus
    actor: str
    at_us: int
    reason: str | None = None
    content: Content | None = None
    edited: tuple[str, ...] = ()
    failure: str | None = None  # the sentence the sender is told when it will not be sent
    via: str = CONSOLE  # where it was taken
    rule: StandingRule | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """A decision to write down, a refusal to tell, or both when a decision came too late."""

    decision: ApprovalDecision | None = None
    refusal: FieldError | None = None
    refused: tuple[str, int] | None = None  # whose decision and when, if the refusal is worth a line in the audit


class ApprovalEventType(StrEnum):
    ACTION_QUEUED = "action_queued"
    ACTION_AUTO_APPROVED = "action_auto_approved"
    ACTION_APPROVED = "action_approved"
    ACTION_REJECTED = "action_rejected"
    ACTION_EXPIRED = "action_expired"
    ACTION_REVISED = "action_revised"  # its text is another one, to be agreed to anew
    ACTION_WITHDRAWN = "action_withdrawn"
    DECISION_REFUSED = "decision_refused"
    RULE_CREATED = "rule_created"
    RULE_REVOKED = "rule_revoked"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalEvent:
    """One line of the audit trail; never a message, only its hash."""

    id: str
    type: ApprovalEventType
    actor: str
    at_us: int
    action_id: DeliveryId | None = None
    rule_id: str | None = None
    reason: str | None = None
    metadata: Document = field(default_factory=dict)


Choose = Callable[[Sequence[StandingRule]], Sequence[StandingRule]]  # those that let it pass, best first
DecisionRule = Callable[[Action, Question, Attempt, Verdict], Ruling]  # what an answer comes to


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownAction:
    """An action with all that happened to it, and the beginning of each of its files by its hash."""

    action: Action
    events: Sequence[ApprovalEvent]
    previews: Mapping[str, str] = field(default_factory=dict)


# ---- a parked delivery as a question: what its card is bound to, and an answer that is given elsewhere ----


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """What a person agrees to, to the byte, and how dangerous it is; kept as the question's own state."""

    content_hash: str
    risk: Risk

    def state(self) -> dict[str, str]:
        return {"content_hash": self.content_hash, "risk": str(self.risk)}


def bound_of(question: Question) -> Bound | None:
    """None when it is about something else, or its words have been erased."""
    kept = question.state
    if not is_approval(question) or not isinstance(kept, Mapping):
        return None
    return Bound(content_hash=str(kept["content_hash"]), risk=Risk(kept["risk"]))


def attempt_by(question: Question, actor: str, *, via: str, value: str, at_us: int, id: str) -> Attempt:
    """Of one who decides elsewhere than on a card; every try is an event of its own. `actor` is a principal's text."""
    role, _, name = actor.partition(":")
    person_id = OWNER if actor == str(OPERATOR) else name or role
    return Attempt(
        id=id,
        question_id=question.id,
        channel=via,
        provider_event_id=f"{actor}:{question.id}:{id}",
        said=Said(value=value),
        heard_at_us=at_us,
        person_id=person_id,
        person_name=next((one.name for one in question.people if one.id == person_id), person_id),
        assurance=Assurance.SIGNED_IN,
        actor=actor,
        operator=actor == str(OPERATOR),
        revision=question.revision,
    )


def refused_verdict(refusal: FieldError, question: Question) -> Verdict:
    """Who was first is named, as on every card."""
    kind, reason = _KINDS.get(refusal.code, VerdictKind.INVALID), refusal.error
    if kind is VerdictKind.LOST_RACE and question.answered_by is not None:
        reason = f"{question.answered_by.name} was first"
    elif question.status is QuestionStatus.EXPIRED or refusal.code == "too_late":
        kind, reason = VerdictKind.LATE, "the time for an answer is over"
    return Verdict(kind=kind, code=refusal.code, reason=reason)
