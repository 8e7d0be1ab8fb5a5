"""What a revision takes the place of: one of our own deliveries, and where it went."""

from __future__ import annotations

from dataclasses import replace

from postroom.domain.delivery import TERMINAL
from postroom.domain.errors import FieldError, TargetUnavailable, ValidationError
from postroom.domain.ids import DeliveryId
from postroom.domain.ledger import Claim, Sent
from postroom.domain.markup import Revision
from postroom.domain.outgoing import Outgoing
from postroom.domain.ports import Channel
from postroom.domain.seams import Ledger, SentRecord
from postroom.work.delivery.target import Target


async def resolve_revision(outgoing: Outgoing, delivery_id: DeliveryId, record: SentRecord, ledger: Ledger) -> Sent:
    """Only of the same origin on the same channel, and only once it has arrived: until then nothing can be edited."""
    sent = await record.sent(delivery_id)
    if sent is not None and (sent.origin_butler, sent.channel) == (outgoing.origin_butler, outgoing.channel):
        return sent
    waiting = await ledger.get(delivery_id) if sent is None else None
    if waiting is not None and waiting.status not in TERMINAL:
        raise TargetUnavailable("the message to revise has not been delivered yet")
    raise ValidationError.of([FieldError("revises", "names no delivered message of this sender", "unknown_delivery")])


def revision_target(outgoing: Outgoing, sent: Sent, channel: Channel) -> tuple[Target, Revision | None]:
    """Where it stands, and what is to be edited or deleted there; what only follows it is a reply in its thread."""
    can = channel.capabilities
    if outgoing.follows is not None:
        return Target(sent.conversation or sent.address, sent.provider_ids[0] if sent.provider_ids else None), None
    if not (can.deletes if outgoing.deletes else can.edits):
        verb = "delete" if outgoing.deletes else "edit"
        told = FieldError("revises", f"{channel.name} cannot {verb} what was sent", f"no_{verb}s")
        raise ValidationError.of([told])
    return Target(sent.address), sent.revision(deletes=outgoing.deletes)


async def as_it_stands(record: SentRecord, claim: Claim) -> Claim:
    """Revisions that left before this one may have added messages, or taken some away."""
    if claim.revises is None:
        return claim
    sent = await record.sent(claim.revises.delivery_id, besides=claim.replay_of or claim.id)
    return claim if sent is None else replace(claim, revises=sent.revision(deletes=claim.revises.deletes))
