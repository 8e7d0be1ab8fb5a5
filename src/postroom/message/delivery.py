"""What a delivery is, and the one table of moves it may make."""

from __future__ import annotations

import string
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from postroom.kernel.values.errors import ErrorClass
from postroom.kernel.values.ids import DeliveryId, record
from postroom.message.attachment import Attachment
from postroom.message.markup import Markup, Revision


class Status(StrEnum):
    AWAITING_APPROVAL = "awaiting_approval"
    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    DELIVERED = "delivered"
    FAILED = "failed"
    DEAD_LETTERED = "dead_lettered"


class DeliveryEvent(StrEnum):
    APPROVE = "approve"
    REFUSE = "refuse"  # a person said no, or nobody answered in time
    CLAIM = "claim"
    RELEASE = "release"  # given back unsent: lease ran out before sending, or shutdown
    POSTPONE = "postpone"  # not now, and not this delivery's fault: no attempt is used up
    DELIVER = "deliver"
    RETRY = "retry"
    REJECT = "reject"  # the error is final
    EXHAUST = "exhaust"  # attempts used up
    REVISE = "revise"  # taken back to be worded anew, and approved anew where that is needed
    WITHDRAW = "withdraw"  # its sender, the owner or the operator took it back before it was sent
    HOLD = "hold"  # outcome uncertain, and the policy is not to risk a second copy


TRANSITIONS: dict[tuple[Status, DeliveryEvent], Status] = {
    (Status.AWAITING_APPROVAL, DeliveryEvent.APPROVE): Status.PENDING,
    (Status.AWAITING_APPROVAL, DeliveryEvent.REFUSE): Status.FAILED,
    (Status.AWAITING_APPROVAL, DeliveryEvent.WITHDRAW): Status.FAILED,
    (Status.PENDING, DeliveryEvent.CLAIM): Status.IN_PROGRESS,
    (Status.PENDING, DeliveryEvent.REVISE): Status.AWAITING_APPROVAL,
    (Status.PENDING, DeliveryEvent.WITHDRAW): Status.FAILED,
    (Status.IN_PROGRESS, DeliveryEvent.RELEASE): Status.PENDING,
    (Status.IN_PROGRESS, DeliveryEvent.POSTPONE): Status.PENDING,
    (Status.IN_PROGRESS, DeliveryEvent.DELIVER): Status.DELIVERED,
    (Status.IN_PROGRESS, DeliveryEvent.RETRY): Status.PENDING,
    (Status.IN_PROGRESS, DeliveryEvent.REJECT): Status.FAILED,
    (Status.IN_PROGRESS, DeliveryEvent.EXHAUST): Status.DEAD_LETTERED,
    (Status.IN_PROGRESS, DeliveryEvent.HOLD): Status.DEAD_LETTERED,
}

TERMINAL = frozenset(Status) - {before for before, _ in TRANSITIONS}
IN_FLIGHT = frozenset({Status.PENDING, Status.IN_PROGRESS})


def after(status: Status, event: DeliveryEvent) -> Status:
    """Raises KeyError on a move that is not in the table: that is a bug, not an outcome."""
    return TRANSITIONS[status, event]


class Intent(StrEnum):
    SEND = "send"
    REPLY = "reply"
    REACT = "react"


class Priority(StrEnum):
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class OnUncertain(StrEnum):
    """What to do when nobody can know whether the provider took the message."""

    RESEND = "resend"
    HOLD = "hold"


class Format(StrEnum):
    """What a message's text is written in."""

    PLAIN = "plain"
    MARKDOWN = "markdown"


class AttemptResult(StrEnum):
    """How one attempt ended."""

    SUCCESS = "success"
    RETRYABLE_ERROR = "retryable_error"
    NON_RETRYABLE_ERROR = "non_retryable_error"
    UNCERTAIN = "uncertain"


class QuarantineReason(StrEnum):
    RETRIES_EXHAUSTED = "retries_exhausted"
    OUTCOME_UNCERTAIN = "outcome_uncertain"


class Presence(StrEnum):
    """What a provider says when it is asked whether it has a message."""

    THERE = "there"
    ABSENT = "absent"
    UNKNOWN = "unknown"  # it cannot say, or does not answer


REPEAT_MARK: Final = "(possibly repeated)"


@record
class Message:
    """
    What a channel is asked to carry, addressed and ready to send.

    `repeated`: an earlier call may have brought it already, so the person is shown REPEAT_MARK with it.
    `revises`: it takes the place of something sent before, or deletes it; without a text, only its buttons do.
    `format`: a channel is given Markdown only when it declares that it shows it.
    `attachments`: a channel is given files only when it declares that it carries them; their bytes are read anew for
    every call, by their hash.
    """

    delivery_id: DeliveryId
    intent: Intent
    address: str
    text: str = ""
    subject: str | None = None
    emoji: str | None = None
    thread: str | None = None
    origin_butler: str = ""
    priority: Priority = Priority.MEDIUM
    repeated: bool = False
    markup: Markup | None = None
    revises: Revision | None = None
    format: Format = Format.PLAIN
    attachments: tuple[Attachment, ...] = ()


class ReceiptKind(StrEnum):
    """What a provider has accepted: another message, or a change of one that stands there."""

    SENT = "sent"
    EDIT = "edit"
    DELETE = "delete"
    REACTION = "reaction"


@dataclass(frozen=True, slots=True)
class Receipt:
    """
    The provider's own name for what it accepted.

    `conversation` is where it stands there, when that is not the address itself: a direct message to a user is
    kept in a channel of its own, and whoever edits it has to name that one. `also` are the names of the parts that
    follow, where one call brought several: they are not sent again. `about` is the message that was changed.
    """

    provider_id: str
    conversation: str | None = None
    also: tuple[str, ...] = ()
    kind: ReceiptKind = ReceiptKind.SENT
    about: str | None = None

    @classmethod
    def of_change(cls, kind: ReceiptKind, place: object, about: object, conversation: str | None = None) -> Receipt:
        """Not under the message's own name, by which replies are looked for: that belongs to what sent it."""
        return cls(f"{kind}:{place}:{about}", conversation, kind=kind, about=str(about))

    @property
    def following(self) -> Receipt:
        return Receipt(self.also[0], self.conversation, self.also[1:])


@dataclass(frozen=True, slots=True)
class ProviderAnswer:
    """`words` are why it could not say."""

    presence: Presence
    words: str | None = None

    @property
    def sentence(self) -> str:
        match self.presence:
            case Presence.THERE:
                return "it was there"
            case Presence.ABSENT:
                return "it was not there"
            case Presence.UNKNOWN:
                return f"no answer ({self.words})" if self.words else "no answer"


@dataclass(frozen=True, slots=True)
class DeliveryFailure:
    """An error as it is stored and shown, long after the exception is gone."""

    error_class: ErrorClass
    message: str
    retry_after_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class AttemptVerdict:
    """What an attempt came to, and how long to wait before the next one."""

    event: DeliveryEvent
    delay_seconds: float = 0.0


# Addresses: when two are the same, which are closed, and who stands behind one.


# When two addresses are the same: for trust, limits, idempotency and matching alike.

_LOWER: Final = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def folded(address: str) -> str:
    """ASCII case only: full case folding would turn other letters, such as the Kelvin sign, into ours."""
    return address.lower() if address.isascii() else address.translate(_LOWER)


# An address from which mail came back for good: written to no more, or doubted where its owner had proved it.


class Closing(StrEnum):
    BOUNCED = "bounced"
    DOUBTFUL = "doubtful"
    """A person has proved the address, so no report of a server closes it: it is only said."""


ADDRESS_BOUNCED: Final = "address_bounced"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedAddress:
    """`words` are those of the server that sent the message back, on one line."""

    channel: str
    address: str
    reason: Closing
    words: str
    delivery_id: DeliveryId
    at_us: int

    @property
    def is_closed(self) -> bool:
        return self.reason is Closing.BOUNCED

    @property
    def sentence(self) -> str:
        said = "what was sent to this address came back"
        return f"{said}: {self.words}" if self.words else said


# Who stands behind an address, in as few words as a list of names needs.


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldAddress:
    """One person at one address; without a channel, a person who was asked for by id."""

    person_id: str
    name: str
    channel: str | None = None
    folded: str | None = None
    is_verified: bool = False
