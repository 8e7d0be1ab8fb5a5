"""What a revision takes the place of: one of our own deliveries, and where it went."""

from __future__ import annotations

from postroom.domain.delivery import TERMINAL
from postroom.domain.errors import FieldError, TargetUnavailable, ValidationError
from postroom.domain.ids import DeliveryId
from postroom.domain.ledger import Sent
from postroom.domain.outgoing import Outgoing
from postroom.domain.ports import Ledger, SentRecord


async def resolve_revision(outgoing: Outgoing, delivery_id: DeliveryId, record: SentRecord, ledger: Ledger) -> Sent:
    """Only of the same origin on the same channel, and only once it has arrived: until then nothing can be edited."""
    sent = await record.sent(delivery_id)
    if sent is not None and (sent.origin_butler, sent.channel) == (outgoing.origin_butler, outgoing.channel):
        return sent
    waiting = await ledger.get(delivery_id) if sent is None else None
    if waiting is not None and waiting.status not in TERMINAL:
        raise TargetUnavailable("the message to revise has not been delivered yet")
    raise ValidationError.of([FieldError("revises", "names no delivered message of this sender", "unknown_delivery")])
