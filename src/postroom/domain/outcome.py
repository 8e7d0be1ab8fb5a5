"""What became of an outgoing message, as far as it is known when the waiting ends."""

from __future__ import annotations

from enum import StrEnum

from postroom.domain.delivery import Status
from postroom.domain.errors import PostroomError
from postroom.domain.ids import DeliveryId
from postroom.domain.record import record


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
    its sender asked for.
    """

    status: AnswerStatus
    request_id: str | None
    channel: str | None = None
    delivery_id: DeliveryId | None = None
    delivery_status: Status | None = None
    provider_delivery_id: str | None = None
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
