"""A message on its way out, as every part of the house hands it to the next, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from postroom.kernel.values.errors import PostroomError
from postroom.kernel.values.ids import DeliveryId, record
from postroom.kernel.values.principal import OPERATOR
from postroom.message.arguments import choice, text
from postroom.message.attachment import Attachment
from postroom.message.delivery import Format, Intent, OnUncertain, Priority, Status
from postroom.message.inbound import InboundMessage
from postroom.message.markup import Markup
from postroom.message.wishes import OWN_AGENTS, AttentionWish

MAX_SUBJECT_CHARACTERS: Final = 500
MAX_ADDRESS_CHARACTERS: Final = 320
MAX_KEY_CHARACTERS: Final = 200
SEVERAL_AGENTS: Final = ", "  # between the askers whose words one message passes on


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestContext:
    """Lineage of the inbound request that a reply or a reaction answers."""

    request_id: str
    source_channel: str
    source_endpoint_identity: str
    source_sender_identity: str
    source_thread_identity: str | None = None
    received_at: str | None = None


@record
class Outgoing:
    """
    What is to be said, to whom and for whom; without a recipient, to the owner.

    `markup`, `revises`, `deletes` and `follows` are for the household itself: notify.v1, which agents speak, has none
    of them. What `revises` a delivery goes where that one went; without a message it changes the buttons alone, and
    with `deletes` the message is to be gone. What `follows` one is a reply to it. What is `released` has waited for its
    moment, or need not: nothing holds it again. `asker` is the agent whose words the household passes on, where it
    speaks itself, and with `repeats` they are those that stand on an earlier message of the same request already.
    `handed_by` is the part that its sender called, where that was not the messenger itself.
    """

    origin_butler: str
    channel: str
    message: str
    intent: Intent = Intent.SEND
    recipient: str | None = text("An address or a contact's exact name; by default the owner.", MAX_ADDRESS_CHARACTERS)
    subject: str | None = text("Of an e-mail.", MAX_SUBJECT_CHARACTERS, is_line=True)
    emoji: str | None = text("Of a reaction.", 32)
    format: Format = choice(
        "plain (to the letter) by default; markdown for a reply in a session.", Format, Format.PLAIN
    )
    idempotency_key: str | None = text(
        "Sent once for this key, however often you call.", MAX_KEY_CHARACTERS, beside=True
    )
    priority: Priority = choice("medium by default.", Priority, Priority.MEDIUM, beside=True)
    on_uncertain: OnUncertain | None = choice(
        "When nobody can know whether it arrived: send again, or hold for a person.", OnUncertain, beside=True
    )
    context: RequestContext | None = None
    markup: Markup | None = None
    revises: DeliveryId | None = None
    deletes: bool = False
    follows: DeliveryId | None = None
    attachments: tuple[Attachment, ...] = ()
    wish: AttentionWish | None = None
    released: bool = False
    asker: str | None = None
    repeats: bool = False
    handed_by: str | None = None


# What became of it, as far as it is known when the waiting ends.


class AnswerStatus(StrEnum):
    OK = "ok"  # delivered
    ACCEPTED = "accepted"  # stored, and still being tried
    PENDING_APPROVAL = "pending_approval"
    DEFERRED = "deferred"  # stored as a notice, and held until its moment
    MUTED = "muted"  # the person mutes such messages: stored, and not sent
    ERROR = "error"


@record
class Outcome:
    """
    `error` says why nothing was stored or why it failed; `retryable` whether asking again can help.

    `notice_id`: the notice it is held as, `until_us` when it is looked at again, and `reasons` why not now.
    `notice_state`: where the notice stands, when that was asked for. `urgency`: as it counts, where that is less than
    its sender asked for. `in_one_part`: the provider's name for it is all there is of it.
    """

    status: AnswerStatus
    request_id: str | None
    channel: str | None = None
    delivery_id: DeliveryId | None = None
    delivery_status: Status | None = None
    provider_delivery_id: str | None = None
    in_one_part: bool = False
    possible_duplicate: bool = False
    waiting_reason: str | None = None
    error: PostroomError | None = None
    retryable: bool = False
    notice_id: str | None = None
    notice_state: str | None = None
    urgency: str | None = None
    until_us: int | None = None
    reasons: tuple[str, ...] = ()


def refused(error: PostroomError, *, request_id: str | None = None, channel: str | None = None) -> Outcome:
    """Nothing was stored."""
    return Outcome(
        status=AnswerStatus.ERROR, request_id=request_id, channel=channel, error=error, retryable=error.retryable
    )


def answer_to(status: Status) -> AnswerStatus:
    return _ANSWERS[status]


_ANSWERS = {
    Status.DELIVERED: AnswerStatus.OK,
    Status.PENDING: AnswerStatus.ACCEPTED,
    Status.IN_PROGRESS: AnswerStatus.ACCEPTED,
    Status.AWAITING_APPROVAL: AnswerStatus.PENDING_APPROVAL,
    Status.FAILED: AnswerStatus.ERROR,
    Status.DEAD_LETTERED: AnswerStatus.ERROR,
}


# What the household itself says to one who wrote to it, in the place where they wrote.

_ORIGIN: Final = "messenger"


def said_back(message: InboundMessage, words: str, *, key: str, request_id: str) -> Outgoing:
    """As a reply it goes where a person spoke to us, so that no other is asked to agree to it."""
    context = RequestContext(
        request_id=request_id,
        source_channel=message.channel,
        source_endpoint_identity="bot",
        source_sender_identity=message.places[0],
        source_thread_identity=message.thread_identity,
    )
    return Outgoing(
        origin_butler=_ORIGIN,
        intent=Intent.REPLY,
        channel=message.channel,
        message=words,
        subject=message.subject,
        context=context,
        idempotency_key=key,
    )


# Who sends the e-mail copies of the inbox.

INBOX_AGENT: Final = "inbox"  # who speaks where no program does


ASKER: Final = "system:approvals"  # no token stands for it: what is asked here cannot be taken back or reworded


# As whom people know the one who speaks.

_HOUSEHOLD: Final = OWN_AGENTS | {INBOX_AGENT, ASKER, str(OPERATOR)}


def known_as(agent: str) -> str:
    """Records keep `butler:health` or `agent://butler/health`: to people that is health, and our own parts are one."""
    if agent in _HOUSEHOLD:
        return "Your household"
    name = agent.rpartition("/")[2]
    return name.partition(":")[2] or name
