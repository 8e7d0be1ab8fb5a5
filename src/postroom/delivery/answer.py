"""What a caller is told about a delivery: notify_response.v1."""

from __future__ import annotations

from typing import Any

from postroom.domain.delivery import Status
from postroom.domain.errors import RETRYABLE, ErrorClass
from postroom.domain.ledger import Snapshot
from postroom.domain.route import NOTIFY_RESPONSE_V1


def notify_response(snapshot: Snapshot, *, request_id: str) -> dict[str, Any]:
    """A failed delivery is never wrapped in an `ok`."""
    delivery: dict[str, Any] = {
        "channel": snapshot.channel,
        "delivery_id": snapshot.id,
        "status": str(snapshot.status),
        "provider_delivery_id": snapshot.provider_delivery_id,
    }
    if snapshot.possible_duplicate:
        delivery["possible_duplicate"] = True
    if snapshot.waiting_reason:
        delivery["waiting_reason"] = snapshot.waiting_reason
    answer: dict[str, Any] = {
        "schema_version": NOTIFY_RESPONSE_V1,
        "status": _status(snapshot.status),
        "request_context": {"request_id": request_id},
        "delivery": delivery,
    }
    if snapshot.status is Status.AWAITING_APPROVAL:
        answer["action_id"] = snapshot.id  # an action bears the id of the delivery it would release
    if answer["status"] == "error":
        answer |= _error(snapshot)
    return answer


def _status(status: Status) -> str:
    match status:
        case Status.DELIVERED:
            return "ok"
        case Status.FAILED | Status.DEAD_LETTERED:
            return "error"
        case Status.AWAITING_APPROVAL:
            return "pending_approval"
        case Status.PENDING | Status.IN_PROGRESS:
            return "accepted"


def _error(snapshot: Snapshot) -> dict[str, Any]:
    """
    The class tells what went wrong; `retryable` whether asking again can help.
    A dead letter is kept for replay, so sending it anew would make a second one.
    """
    failure = snapshot.failure
    error_class = failure.error_class if failure else ErrorClass.INTERNAL
    retryable = error_class in RETRYABLE and snapshot.status is Status.FAILED
    error = {"class": str(error_class), "message": failure.message if failure else "", "retryable": retryable}
    return {"error": error, "error_class": str(error_class), "retryable": retryable}
