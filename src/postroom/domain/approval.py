"""What a person decides on: the exact content, its hash, the action, and the rules that stand for a decision."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from postroom.domain.attachment import Attachment, attachments_text
from postroom.domain.delivery import Format, Intent, Message, Status
from postroom.domain.errors import FieldError
from postroom.domain.ids import DeliveryId
from postroom.domain.ledger import NewDelivery
from postroom.domain.markup import Markup, markup_text
from postroom.domain.risk_and_urgency import Risk

_HASH_SCHEME: Final = "approval.v1"
CONSOLE: Final = "console"


class ActionStatus(StrEnum):
    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"


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
    """How a delivery is to be parked: until when, and how dangerous it would be to let it go."""

    risk: Risk
    expires_at_us: int
    most_pending: int  # of one origin at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """
    A delivery that waits, or waited, for a decision. It bears the delivery's id.

    `content` is what the ledger would send now; `content_hash` is what was parked,
    or what was approved after an edit. The two differ only when somebody changed a row.
    """

    id: DeliveryId
    origin_butler: str
    request_id: str
    content: Content
    content_hash: str
    envelope: Mapping[str, Any]
    risk: Risk
    status: ActionStatus
    requested_at_us: int
    expires_at_us: int
    decided_by: str | None = None
    decided_at_us: int | None = None
    reason: str | None = None
    rule_id: str | None = None
    edited: bool = False
    delivery_status: Status = Status.AWAITING_APPROVAL
    revised: bool = False  # its sender has worded it anew since it was first parked


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
    metadata: Mapping[str, Any] = field(default_factory=dict)
