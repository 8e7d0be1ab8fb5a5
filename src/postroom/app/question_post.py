"""The delivery plane, as the presenter of questions uses it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from postroom.domain.ids import DeliveryId
from postroom.domain.outcome import Outcome
from postroom.domain.outgoing import Outgoing
from postroom.domain.snapshot_outcome import outcome_of
from postroom.work.delivery.corrections import Corrections
from postroom.work.delivery.idempotency import caller_key
from postroom.work.delivery.plane import Plane
from postroom.work.questions.cards import ORIGIN

ACTOR: Final = "the household"


@dataclass(frozen=True, slots=True)
class QuestionPost:
    plane: Plane
    corrections: Corrections

    async def submit(self, outgoing: Outgoing, *, request_id: str, wait_seconds: float) -> Outcome:
        return await self.plane.submit(outgoing, request_id=request_id, wait_seconds=wait_seconds)

    async def under(self, key: str) -> DeliveryId | None:
        found = await self.plane.acceptance.ledger.find(caller_key(ORIGIN, key))
        return found.id if found else None

    async def outcome(self, delivery_id: DeliveryId, wait_seconds: float) -> Outcome | None:
        settled = await self.plane.outcomes.wait(delivery_id, wait_seconds, look_first=True)
        snapshot = settled or await self.plane.acceptance.ledger.get(delivery_id)
        return outcome_of(snapshot, request_id=snapshot.request_id) if snapshot else None

    async def parts(self, delivery_id: DeliveryId) -> tuple[str, ...]:
        sent = await self.plane.acceptance.sent.sent(delivery_id)
        return sent.revision().standing if sent else ()

    async def take_back(self, delivery_id: DeliveryId) -> bool:
        return await self.corrections.take_back(delivery_id, actor=ACTOR)
