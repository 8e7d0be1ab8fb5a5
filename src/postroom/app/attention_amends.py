"""What attention has handed over, changed by the same corrections as everything else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from postroom.domain.capabilities import Capabilities
from postroom.domain.correction import Correcting, CorrectionAct, CorrectionAnswer, CorrectionStatus
from postroom.domain.delivery import Status
from postroom.domain.errors import TargetUnavailable
from postroom.domain.ids import DeliveryId
from postroom.domain.outcome import AnswerStatus, Outcome
from postroom.domain.outgoing import Outgoing
from postroom.work.delivery.corrections import Corrections
from postroom.work.delivery.idempotency import caller_key

ACTOR: Final = "attention"
_ARRIVED: Final = (CorrectionStatus.REVISED, CorrectionStatus.RECALLED)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaneAmends:
    corrections: Corrections

    async def under(self, outgoing: Outgoing) -> str | None:
        key = caller_key(outgoing.origin_butler, outgoing.idempotency_key or "")
        found = await self.corrections.plane.acceptance.ledger.find(key)
        return found.id if found else None

    async def take_back(self, delivery_id: str) -> bool:
        return await self.corrections.take_back(DeliveryId(delivery_id), actor=ACTOR)

    async def amend(self, outgoing: Outgoing, *, request_id: str, wait_seconds: float) -> Outcome | None:
        """A second time finds the first one's delivery: by the send's key, and what is recalled by that it was."""
        channel = self.corrections.plane.acceptance.channels.get(outgoing.channel)
        if channel is None or not _can(channel.capabilities, outgoing):
            return None
        answer = await self.corrections.correct(_asked(outgoing), request_id=request_id, wait_seconds=wait_seconds)
        return _outcome(outgoing, answer, request_id)


def _can(can: Capabilities, outgoing: Outgoing) -> bool:
    return can.edits or (can.deletes and outgoing.deletes)


def _asked(outgoing: Outgoing) -> Correcting:
    recalls = outgoing.deletes
    return Correcting(
        act=CorrectionAct.RECALL if recalls else CorrectionAct.REVISE,
        delivery_id=outgoing.revises or DeliveryId(""),
        actor=ACTOR,
        sender=None,
        message="" if recalls else outgoing.message,
        subject=None if recalls else outgoing.subject,
        format=None if recalls else outgoing.format,
        idempotency_key=None if recalls else outgoing.idempotency_key,
        own_card=True,
    )


def _outcome(outgoing: Outgoing, answer: CorrectionAnswer, request_id: str) -> Outcome | None:
    """None when nothing came of it and nothing will: it is said in a message instead."""
    if answer.delivery_id is None:
        if isinstance(answer.error, TargetUnavailable):
            return Outcome(status=AnswerStatus.ERROR, request_id=request_id, error=answer.error, retryable=True)
        return None
    arrived = answer.status in _ARRIVED
    return Outcome(
        status=AnswerStatus.OK if arrived else AnswerStatus.ACCEPTED,
        request_id=request_id,
        channel=outgoing.channel,
        delivery_id=answer.delivery_id,
        delivery_status=Status.DELIVERED if arrived else Status.PENDING,
    )
