"""notify_response.v1: an outcome as it goes over a wire, and as it is read from one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from postroom.domain.delivery import Status
from postroom.domain.error_shapes import error_object, field_list
from postroom.domain.errors import (
    CircuitOpenError,
    ErrorClass,
    FieldError,
    InternalError,
    OverloadRejected,
    PostroomError,
    ProviderThrottled,
    ValidationError,
    error_of,
)
from postroom.domain.ids import DeliveryId
from postroom.domain.outcome import AnswerStatus, Outcome, refused
from postroom.domain.routed import NOTIFY_RESPONSE_V1, Routed
from postroom.domain.time import parse_text, to_text

_ERROR_CLASSES: Final = {str(one): one for one in ErrorClass}
_ANSWERS: Final = {str(one): one for one in AnswerStatus}
_STATUSES: Final = {str(one): one for one in Status}


def notify_response(outcome: Outcome) -> dict[str, Any]:
    answer: dict[str, Any] = {"schema_version": NOTIFY_RESPONSE_V1, "status": str(outcome.status)}
    if outcome.request_id:
        answer["request_context"] = {"request_id": outcome.request_id}
    if delivery := _delivery(outcome):
        answer["delivery"] = delivery
    if outcome.status is AnswerStatus.PENDING_APPROVAL:
        answer["action_id"] = outcome.delivery_id  # an action bears the id of the delivery it would release
    if outcome.notice_id is not None:
        answer["notice_id"] = outcome.notice_id
    if outcome.notice_state is not None:
        answer["notice_state"] = outcome.notice_state
    if outcome.urgency is not None:
        answer["urgency"] = outcome.urgency
    if outcome.status is AnswerStatus.MUTED:
        answer["reasons"] = list(outcome.reasons)
    if outcome.status is AnswerStatus.DEFERRED:
        answer["until"] = to_text(outcome.until_us) if outcome.until_us is not None else None
        answer["reasons"] = list(outcome.reasons)
    if outcome.error is not None:
        error = error_object(outcome.error) | {"retryable": outcome.retryable}
        answer |= {
            "error": error,
            "error_message": outcome.error.message,
            "error_class": error["class"],
            "retryable": outcome.retryable,
        }
    return answer


def notify_error(error: PostroomError, *, request_id: str | None = None, channel: str | None = None) -> dict[str, Any]:
    """The answer to something that was not stored."""
    return notify_response(refused(error, request_id=request_id, channel=channel))


def argument_error(error: ValidationError) -> dict[str, Any]:
    """The contract's own shape for a wrong argument: the error is one string."""
    answer: dict[str, Any] = {
        "status": "error",
        "error": error.message,
        "error_message": error.message,
        "error_class": str(error.error_class),
        "retryable": False,
    }
    if error.fields:
        answer["fields"] = field_list(error.fields)
    return answer


def read_response(answer: Mapping[str, Any]) -> Outcome:
    """Anything but a well-formed answer is an error of ours, never a silent success."""
    delivery, context = _object(answer, "delivery"), _object(answer, "request_context")
    status = _ANSWERS.get(str(answer.get("status")))
    error = _read_error(answer) if status in (None, AnswerStatus.ERROR) else None
    return Outcome(
        status=status or AnswerStatus.ERROR,
        request_id=context.get("request_id"),
        channel=delivery.get("channel"),
        delivery_id=DeliveryId(delivery["delivery_id"]) if delivery.get("delivery_id") else None,
        delivery_status=_STATUSES.get(str(delivery.get("status"))),
        provider_delivery_id=delivery.get("provider_delivery_id"),
        possible_duplicate=bool(delivery.get("possible_duplicate")),
        waiting_reason=delivery.get("waiting_reason"),
        error=error,
        retryable=error is not None and bool(answer.get("retryable", _object(answer, "error").get("retryable"))),
        notice_id=answer.get("notice_id"),
        notice_state=answer.get("notice_state"),
        urgency=answer.get("urgency"),
        until_us=parse_text(answer["until"]) if answer.get("until") else None,
        reasons=tuple(str(reason) for reason in answer.get("reasons") or ()),
    )


def read_routed(answer: Mapping[str, Any]) -> Routed:
    """A route_response.v1; its errors are those of a notify."""
    if answer.get("status") == AnswerStatus.ERROR:
        told = read_response(answer)
        return Routed(error=told.error or InternalError("the butler failed"), retryable=told.retryable)
    result = answer.get("result")
    return Routed(
        result=result if isinstance(result, Mapping) else None, finished=answer.get("status") == AnswerStatus.OK
    )


def _delivery(outcome: Outcome) -> dict[str, Any]:
    if outcome.delivery_id is None:
        return {"channel": outcome.channel} if outcome.channel else {}
    delivery: dict[str, Any] = {
        "channel": outcome.channel,
        "delivery_id": outcome.delivery_id,
        "status": str(outcome.delivery_status),
        "provider_delivery_id": outcome.provider_delivery_id,
    }
    if outcome.possible_duplicate:
        delivery["possible_duplicate"] = True
    if outcome.waiting_reason:
        delivery["waiting_reason"] = outcome.waiting_reason
    return delivery


def _read_error(answer: Mapping[str, Any]) -> PostroomError:
    told = answer.get("error")
    if not isinstance(told, Mapping):  # a wrong argument is answered with a sentence
        told = {"class": answer.get("error_class"), "message": told if isinstance(told, str) else ""}
    error_class = _ERROR_CLASSES.get(str(told.get("class")), ErrorClass.INTERNAL)
    message, fields = str(told.get("message", "")), told.get("fields") or answer.get("fields")
    if error_class is ErrorClass.VALIDATION and isinstance(fields, list):
        return ValidationError(message, fields=[_field(one) for one in fields if isinstance(one, Mapping)])
    wait = told.get("retry_after_seconds")
    wait_seconds = float(wait) if isinstance(wait, int | float) else None
    if told.get("type") == CircuitOpenError.wire_type:
        return CircuitOpenError(message, retry_after_seconds=wait_seconds)
    if error_class is ErrorClass.OVERLOAD:
        return OverloadRejected(
            message, limit_type=str(told.get("limit_type", "")), retry_after_seconds=wait_seconds or 0
        )
    if told.get("limit_type") == ProviderThrottled.limit_type:
        return ProviderThrottled(message, retry_after_seconds=wait_seconds)
    error = error_of(error_class, message)
    error.retry_after_seconds = wait_seconds
    return error


def _field(told: Mapping[str, Any]) -> FieldError:
    return FieldError(*(str(told.get(name, "")) for name in ("field", "error", "code")))


def _object(answer: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = answer.get(name)
    return value if isinstance(value, Mapping) else {}
