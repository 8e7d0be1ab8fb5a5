"""What the household itself says to one who wrote to it, in the place where they wrote."""

from __future__ import annotations

from typing import Final

from postroom.domain.delivery import Intent
from postroom.domain.inbound_message import InboundMessage
from postroom.domain.outgoing import Outgoing, RequestContext

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
        context=context,
        idempotency_key=key,
    )
