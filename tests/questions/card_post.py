"""A way out for cards that keeps what it is given and delivers when the test says so."""

from __future__ import annotations

from dataclasses import dataclass, field

from postroom.kernel.values.errors import CircuitOpenError, ErrorClass, PostroomError, error_of
from postroom.kernel.values.ids import DeliveryId
from postroom.message.delivery import Status
from postroom.message.outgoing import AnswerStatus, Outcome, Outgoing, refused


@dataclass(slots=True)
class CardPost:
    """One key is one delivery, as in the ledger. `settles` is what becomes of a new one; `away` takes no new ones."""

    settles: Status = Status.DELIVERED
    failure: PostroomError = field(default_factory=lambda: error_of(ErrorClass.VALIDATION, "chat not found"))
    refuses: PostroomError | None = None
    refuses_edits: bool = False
    away: set[str] = field(default_factory=set)
    sent: list[Outgoing] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    statuses: dict[DeliveryId, Status] = field(default_factory=dict)
    keys: dict[str, DeliveryId] = field(default_factory=dict)

    async def submit(self, outgoing: Outgoing, *, request_id: str, wait_seconds: float) -> Outcome:
        if self.refuses is not None or (self.refuses_edits and outgoing.revises):
            return refused(self.refuses or error_of(ErrorClass.VALIDATION, "message can't be edited"))
        if outgoing.channel in self.away:
            return refused(CircuitOpenError(f"the circuit of {outgoing.channel} is open", retry_after_seconds=60))
        key = outgoing.idempotency_key or f"new-{len(self.sent)}"
        if key not in self.keys:
            self.keys[key] = DeliveryId(f"d{len(self.keys) + 1}")
            self.statuses[self.keys[key]] = self.settles
            self.sent.append(outgoing)
            self.requests.append(request_id)
        return self._outcome(self.keys[key])

    async def under(self, key: str) -> DeliveryId | None:
        return self.keys.get(key)

    async def outcome(self, delivery_id: DeliveryId, wait_seconds: float) -> Outcome | None:
        return self._outcome(delivery_id)

    async def parts(self, delivery_id: DeliveryId) -> tuple[str, ...]:
        return (f"{delivery_id}-1", f"{delivery_id}-2")

    async def take_back(self, delivery_id: DeliveryId) -> bool:
        if self.statuses[delivery_id] not in (Status.PENDING, Status.AWAITING_APPROVAL):
            return False
        self.statuses[delivery_id] = Status.FAILED
        return True

    async def is_away(self, channel: str) -> bool:
        return channel in self.away

    @property
    def texts(self) -> list[str]:
        return [one.message for one in self.sent]

    def _outcome(self, delivery_id: DeliveryId) -> Outcome:
        status = self.statuses[delivery_id]
        failed = status in (Status.FAILED, Status.DEAD_LETTERED)
        answers = {Status.DELIVERED: AnswerStatus.OK, Status.AWAITING_APPROVAL: AnswerStatus.PENDING_APPROVAL}
        return Outcome(
            status=AnswerStatus.ERROR if failed else answers.get(status, AnswerStatus.ACCEPTED),
            request_id="r",
            delivery_id=delivery_id,
            delivery_status=status,
            error=self.failure if failed else None,
        )
