"""
Every error this system can hand to a caller.

    PostroomError             base; `error_class` and `retryable` are the wire contract
    ├─ ValidationError        the request can never succeed as written
    ├─ OverloadRejected       our own limits refuse for now
    ├─ TargetUnavailable      the provider refused, or could not be reached: not sent
    │  ├─ ProviderThrottled   it told us to wait (429)
    │  ├─ ProviderFailed      it broke while answering (500, 502, 504): believed, but not sworn to
    │  ├─ CircuitOpenError    we did not even try
    │  ├─ StoreUnavailable    our own database; nothing was accepted
    │  └─ OutOfDescriptors    this process can open nothing more; nothing left it
    ├─ DeliveryTimeout        nothing was handed over before the deadline
    ├─ OutcomeUncertain       handed over, no answer: it may have been sent
    └─ InternalError          our bug
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar


class ErrorClass(StrEnum):
    VALIDATION = "validation_error"
    OVERLOAD = "overload_rejected"
    UNAVAILABLE = "target_unavailable"
    TIMEOUT = "timeout"
    INTERNAL = "internal_error"


RETRYABLE = frozenset({ErrorClass.OVERLOAD, ErrorClass.UNAVAILABLE, ErrorClass.TIMEOUT})


@dataclass(frozen=True, slots=True)
class FieldError:
    """One thing wrong with one field; `code` is for programs, `error` for people."""

    field: str
    error: str
    code: str


class PostroomError(Exception):
    error_class: ClassVar[ErrorClass] = ErrorClass.INTERNAL

    def __init__(self, message: str, *, retry_after_seconds: float | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.retry_after_seconds = retry_after_seconds

    @property
    def retryable(self) -> bool:
        return self.error_class in RETRYABLE


class ValidationError(PostroomError):
    error_class = ErrorClass.VALIDATION

    def __init__(self, message: str, *, fields: Sequence[FieldError] = ()) -> None:
        super().__init__(message)
        self.fields = tuple(fields)

    @classmethod
    def of(cls, fields: Sequence[FieldError]) -> ValidationError:
        return cls("; ".join(f"{item.field}: {item.error}" for item in fields), fields=fields)


class OverloadRejected(PostroomError):
    error_class = ErrorClass.OVERLOAD

    def __init__(self, message: str, *, limit_type: str, retry_after_seconds: float) -> None:
        super().__init__(message, retry_after_seconds=retry_after_seconds)
        self.limit_type = limit_type


class TargetUnavailable(PostroomError):
    error_class = ErrorClass.UNAVAILABLE


class ProviderThrottled(TargetUnavailable):
    """The provider asked for patience. Waiting costs the delivery none of its attempts."""

    limit_type: ClassVar[str] = "provider"


class ProviderFailed(TargetUnavailable):
    """
    The provider's own failure, told after it had the whole request.

    It is taken as a refusal and tried again; but something behind it may have
    carried the message out, so a second copy is announced as possible.
    """


class CircuitOpenError(TargetUnavailable):
    """The channel failed too often; new work is refused until a probe succeeds."""


class StoreUnavailable(TargetUnavailable):
    """The database cannot be reached or cannot write."""

    def __init__(self, detail: str) -> None:
        super().__init__(f"the store is not available ({detail})", retry_after_seconds=1.0)


class OutOfDescriptors(TargetUnavailable):
    """Our own trouble: it says nothing about the provider and costs the delivery none of its attempts."""

    def __init__(self) -> None:
        super().__init__("this machine has no file descriptor left; nothing was sent", retry_after_seconds=1.0)


class DeliveryTimeout(PostroomError):
    error_class = ErrorClass.TIMEOUT


class OutcomeUncertain(PostroomError):
    """The bytes left and no complete answer came back. Sending again may deliver twice."""

    error_class = ErrorClass.TIMEOUT


class InternalError(PostroomError):
    error_class = ErrorClass.INTERNAL


_PLAIN: dict[ErrorClass, type[PostroomError]] = {
    ErrorClass.VALIDATION: ValidationError,
    ErrorClass.UNAVAILABLE: TargetUnavailable,
    ErrorClass.TIMEOUT: DeliveryTimeout,
    ErrorClass.INTERNAL: InternalError,
}


def error_of(error_class: ErrorClass, message: str) -> PostroomError:
    """An error as it was noted or told, when only its class and its words are left."""
    if error_class is ErrorClass.OVERLOAD:
        return OverloadRejected(message, limit_type="", retry_after_seconds=0.0)
    return _PLAIN[error_class](message)
