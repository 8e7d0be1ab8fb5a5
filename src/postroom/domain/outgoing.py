"""A message on its way out, as every part of the house hands it to the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from postroom.domain.attachment import Attachment
from postroom.domain.attention import AttentionWish
from postroom.domain.delivery import Format, Intent, OnUncertain, Priority
from postroom.domain.ids import DeliveryId
from postroom.domain.markup import Markup
from postroom.domain.record import record

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
    recipient: str | None = None
    subject: str | None = None
    emoji: str | None = None
    context: RequestContext | None = None
    idempotency_key: str | None = None
    priority: Priority = Priority.MEDIUM
    on_uncertain: OnUncertain | None = None
    markup: Markup | None = None
    revises: DeliveryId | None = None
    deletes: bool = False
    follows: DeliveryId | None = None
    format: Format = Format.PLAIN
    attachments: tuple[Attachment, ...] = ()
    wish: AttentionWish | None = None
    released: bool = False
    asker: str | None = None
    repeats: bool = False
    handed_by: str | None = None
