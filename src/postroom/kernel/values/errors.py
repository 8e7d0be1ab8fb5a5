"""
Every error this system can hand to a caller, as it goes over a wire, and what a person does about it.

    PostroomError             base; `error_class` and `retryable` are the wire contract
    ├─ ValidationError        the request can never succeed as written
    ├─ OverloadRejected       our own limits refuse for now
    ├─ TargetUnavailable      the provider refused, or could not be reached: not sent
    │  ├─ ProviderThrottled   it told us to wait (429)
    │  ├─ CredentialsRefused  it does not accept us: only a change of the settings helps
    │  ├─ ProviderFailed      it broke while answering (500, 502, 504): believed, but not sworn to
    │  ├─ CircuitOpenError    we did not even try
    │  ├─ StoreUnavailable    our own database; nothing was accepted
    │  └─ OutOfDescriptors    this process can open nothing more; nothing left it
    ├─ DeliveryTimeout        nothing was handed over before the deadline
    ├─ OutcomeUncertain       handed over, no answer: it may have been sent
    ├─ InternalError          our bug
    └─ Refused                turned away for the one reason its code names
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from typing import Any, ClassVar, Final, Self


class ErrorClass(StrEnum):
    VALIDATION = "validation_error"
    OVERLOAD = "overload_rejected"
    UNAVAILABLE = "target_unavailable"
    TIMEOUT = "timeout"
    INTERNAL = "internal_error"


RETRYABLE = frozenset({ErrorClass.OVERLOAD, ErrorClass.UNAVAILABLE, ErrorClass.TIMEOUT})


class Category(StrEnum):
    VALIDATION = "validation"
    AUTH = "auth"
    POLICY = "policy"
    TRANSPORT = "transport"
    TIMEOUT = "timeout"
    INTERNAL = "internal"


class Code(StrEnum):
    """What programs go by, and what it means over HTTP."""

    status: int
    category: Category
    retryable: bool

    def __new__(
        cls, code: str, status: int = 500, category: Category = Category.INTERNAL, retryable: bool = False
    ) -> Self:
        made = str.__new__(cls, code)
        made._value_ = code
        made.status, made.category, made.retryable = status, category, retryable
        return made

    INVALID_JSON = "invalid_json", 400, Category.VALIDATION
    SCHEMA_INVALID = "schema_invalid", 422, Category.VALIDATION
    VALIDATION_ERROR = "validation_error", 422, Category.VALIDATION
    INVALID_AGENT_ADDRESS = "invalid_agent_address", 422, Category.VALIDATION
    RECIPIENT_REQUIRED = "recipient_required", 422, Category.VALIDATION
    MACRO_INVALID = "macro_invalid", 422, Category.VALIDATION
    IMPORT_INVALID = "import_invalid", 422, Category.VALIDATION
    AUTH_FAILED = "auth_failed", 401, Category.AUTH
    POLICY_DENIED = "policy_denied", 403, Category.POLICY
    AGENT_NOT_FOUND = "agent_not_found", 404, Category.TRANSPORT
    CONTACT_NOT_FOUND = "contact_not_found", 404, Category.VALIDATION
    INTENT_NOT_FOUND = "intent_not_found", 404, Category.VALIDATION
    NOT_FOUND = "not_found", 404, Category.VALIDATION
    METHOD_NOT_ALLOWED = "method_not_allowed", 405, Category.VALIDATION
    KEY_INVALID = "idempotency_key_invalid", 400, Category.VALIDATION
    KEY_REUSED = "idempotency_key_reused", 409, Category.VALIDATION
    ILLEGAL_TRANSITION = "illegal_transition", 409, Category.VALIDATION
    CONTACT_EXISTS = "contact_exists", 409, Category.VALIDATION
    RESOLUTION_EXPIRED = "resolution_expired", 409, Category.VALIDATION
    RESOLUTION_STALE = "resolution_stale", 409, Category.VALIDATION
    TOO_LARGE = "too_large", 413, Category.VALIDATION
    TOO_MANY_OPEN = "too_many_open", 429, Category.POLICY, True
    DELIVERY_FAILED = "delivery_failed", 502, Category.TRANSPORT, True
    INTENT_TIMEOUT = "intent_timeout", 504, Category.TIMEOUT, True
    UPSTREAM_UNAVAILABLE = "upstream_unavailable", 503, Category.TRANSPORT, True
    INTERNAL = "internal_error", 500, Category.INTERNAL, True


_CODE_OF_CLASS: Final = {
    ErrorClass.VALIDATION: Code.VALIDATION_ERROR,
    ErrorClass.OVERLOAD: Code.UPSTREAM_UNAVAILABLE,
    ErrorClass.UNAVAILABLE: Code.UPSTREAM_UNAVAILABLE,
    ErrorClass.TIMEOUT: Code.UPSTREAM_UNAVAILABLE,
    ErrorClass.INTERNAL: Code.INTERNAL,
}


@dataclass(frozen=True, slots=True)
class FieldError:
    """One thing wrong with one field; `code` is for programs, `error` for people."""

    field: str
    error: str
    code: str


def sentence(fields: Sequence[FieldError]) -> str:
    return "; ".join(f"{item.field}: {item.error}" for item in fields)


class PostroomError(Exception):
    """It carries all that any answer says about it; the answers are made in error_shapes and notify_response."""

    error_class: ClassVar[ErrorClass] = ErrorClass.INTERNAL
    wire_type: ClassVar[str | None] = None  # the name some contracts give to this very error
    limit_type: str | None = None  # the limit that refused
    provider_response: str | None = None  # set by `told_by`
    asked_seconds: float | None = None  # the wait a provider asked for, where it is longer than what it is granted

    def __init__(
        self, message: str, *, retry_after_seconds: float | None = None, fields: Sequence[FieldError] = ()
    ) -> None:
        super().__init__(message)
        self.message = message
        self.retry_after_seconds = retry_after_seconds
        self.fields = tuple(fields)
        self.code = _CODE_OF_CLASS[self.error_class]

    @property
    def retryable(self) -> bool:
        return self.error_class in RETRYABLE

    def told_by(self, status: int, words: str = "") -> Self:
        """With what the provider answered, as its attempt keeps it: words without credentials or message content."""
        if not words:
            with suppress(ValueError):
                words = HTTPStatus(status).phrase
        self.provider_response = f"{status}: {words}" if words else str(status)
        return self


class ValidationError(PostroomError):
    error_class = ErrorClass.VALIDATION

    @classmethod
    def of(cls, fields: Sequence[FieldError]) -> ValidationError:
        return cls(sentence(fields), fields=fields)


class OverloadRejected(PostroomError):
    error_class = ErrorClass.OVERLOAD

    def __init__(self, message: str, *, limit_type: str, retry_after_seconds: float) -> None:
        super().__init__(message, retry_after_seconds=retry_after_seconds)
        self.limit_type = limit_type


class TargetUnavailable(PostroomError):
    error_class = ErrorClass.UNAVAILABLE


class ProviderThrottled(TargetUnavailable):
    """The provider asked for patience. Waiting costs the delivery none of its attempts."""

    limit_type = "provider"


class CredentialsRefused(TargetUnavailable):
    """
    The provider does not accept our token, secret or rights; no message is at fault.

    The same call would be refused again, and some providers shut out those who keep asking, so it is not repeated: the
    delivery waits with the dead letters until the settings are mended.
    """


class ProviderFailed(TargetUnavailable):
    """
    The provider's own failure, told after it had the whole request.

    It is taken as a refusal and tried again; but something behind it may have
    carried the message out, so a second copy is announced as possible.
    """


class CircuitOpenError(TargetUnavailable):
    """The channel failed too often; new work is refused until a probe succeeds."""

    wire_type = "CircuitOpenError"


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


class Refused(PostroomError):
    """The message is written for the caller; it never repeats what somebody else said."""

    error_class = ErrorClass.VALIDATION

    def __init__(self, code: Code, message: str, *, fields: Sequence[FieldError] = ()) -> None:
        super().__init__(message, fields=fields)
        self.code = code

    @classmethod
    def of(cls, code: Code, fields: Sequence[FieldError]) -> Refused:
        return cls(code, sentence(fields), fields=fields)

    def renamed(self, name: Callable[[str], str]) -> Refused:
        """With every field as the caller calls it."""
        fields = [FieldError(name(item.field), item.error, item.code) for item in self.fields]
        message = sentence(fields) if self.message == sentence(self.fields) else self.message
        return Refused(self.code, message, fields=fields)

    @property
    def retryable(self) -> bool:
        return self.code.retryable


class UserError(Exception):
    """What the person at the keyboard can put right, in one sentence; shown as it is, without a traceback."""

    code: str = "invalid"  # for programs that called the command
    ending: int = 1  # the code with which the command ends


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


class SettingsError(UserError):
    """One sentence for the person who wrote the setting."""


class Mistyped(SettingsError):
    """The command line was not understood, in the words of the option that is wrong."""

    code = "usage"
    ending = 2


# What a person does about an error, by the code that programs see: one sentence each.

HINTS: Final[dict[Code, str]] = {
    Code.INVALID_JSON: "Send one JSON object in UTF-8, with `Content-Type: application/json`.",
    Code.SCHEMA_INVALID: "Correct the fields that are named; docs/reference/routes.md lists what each may hold.",
    Code.VALIDATION_ERROR: "Correct what is named and try again; `--help` after the command lists what it takes.",
    Code.INVALID_AGENT_ADDRESS: "Write it as agent://household/owner, or name a person of `postroom people list`.",
    Code.RECIPIENT_REQUIRED: "Name a person of `postroom people list`, or leave the recipient out for the owner.",
    Code.MACRO_INVALID: "Choose a macro of `GET /v1/macros`, with the parameters it names.",
    Code.IMPORT_INVALID: "Correct the file's lines that are named; docs/how-to/people.md shows the columns.",
    Code.AUTH_FAILED: "Set POSTROOM_TOKEN to a token that counts; `postroom token list` shows them at the household.",
    Code.POLICY_DENIED: "Ask the owner, or use a token of the right kind: `postroom token create --help` lists them.",
    Code.AGENT_NOT_FOUND: "Name a butler or a person that the household knows; `postroom people list` shows them.",
    Code.CONTACT_NOT_FOUND: "See who is known with `postroom people list`, or write them down: `postroom people add`.",
    Code.INTENT_NOT_FOUND: "Check the id: it stands in the answer that accepted the intent.",
    Code.NOT_FOUND: "Check the id or the name: `postroom asks` and `postroom people list` show what there is.",
    Code.METHOD_NOT_ALLOWED: "Call the path with a method it has: docs/reference/routes.md lists them.",
    Code.KEY_INVALID: "Give a key of 1 to 255 printable characters, or none.",
    Code.KEY_REUSED: "Use another key for another request, or send exactly the first one again.",
    Code.ILLEGAL_TRANSITION: "It has ended or moved on meanwhile: look at it again before you decide.",
    Code.CONTACT_EXISTS: "Change the one there is: `postroom people edit NAME`.",
    Code.RESOLUTION_EXPIRED: "Look the name up again, and use the newer resolution.",
    Code.RESOLUTION_STALE: "Look the name up again: the contact has changed meanwhile.",
    Code.TOO_LARGE: "Send less at once; a file belongs to `postroom notify MESSAGE --attach FILE`.",
    Code.TOO_MANY_OPEN: "Wait for answers, or take some back: `postroom asks` lists them, `postroom recall` ends one.",
    Code.DELIVERY_FAILED: "`postroom why ID` says what happened to it; `postroom channels` shows what does not work.",
    Code.INTENT_TIMEOUT: "Ask again with more time, or look at it later: it may still be answered.",
    Code.UPSTREAM_UNAVAILABLE: "Try again in a moment; `postroom doctor` says what does not work.",
    Code.INTERNAL: "A fault of ours: `postroom doctor` and the household's log say more; please report it.",
}
_STORE: Final = "`postroom doctor` checks the database (POSTROOM_DATABASE_URL); nothing was changed."


def hint_of(error: PostroomError) -> str:
    return _STORE if isinstance(error, StoreUnavailable) else HINTS[error.code]


# How long one answer of a provider may keep a channel waiting.

LONGEST_SECONDS: Final = 3_600.0  # waiting uses up no attempt, so asking again costs one call and no message


def shortened(asked_seconds: float) -> str:
    """What to say beside the provider's words when its wait is cut."""
    from postroom.kernel.values.zones import duration  # a hook and a command do without zones

    asked, granted = duration(asked_seconds), duration(LONGEST_SECONDS)
    return f"it asked for a wait of {asked}, which is cut to {granted} and asked again then"


# As a caller reads them: one function for each shape.


def error_object(error: PostroomError) -> dict[str, Any]:
    """The `error` of every answer that has a `status`: notify, route, approvals, calendar, sandbox."""
    shape: dict[str, Any] = {
        "class": str(error.error_class),
        "message": error.message,
        "retryable": error.retryable,
    }
    if error.retry_after_seconds is not None:
        shape["retry_after_seconds"] = round(error.retry_after_seconds, 3)
    if error.limit_type:
        shape["limit_type"] = error.limit_type
    if error.wire_type:
        shape["type"] = error.wire_type
    if error.fields:
        shape["fields"] = field_list(error.fields)
    return shape


def error_answer(error: PostroomError) -> dict[str, Any]:
    """The whole answer of a tool that has no schema of its own."""
    return {
        "status": "error",
        "error": error_object(error),
        "error_class": str(error.error_class),
        "retryable": error.retryable,
    }


def failure_document(error: PostroomError) -> dict[str, Any]:
    """How contacts, intents and the adapters say no, over HTTP and as tools; `error.code.status` goes with it."""
    return {
        "ok": False,
        "error": {
            "code": str(error.code),
            "message": error.message,
            "category": str(error.code.category),
            "retryable": error.code.retryable,
            "fields": field_list(error.fields),
        },
    }


def field_list(fields: Sequence[FieldError]) -> list[dict[str, str]]:
    return [{"field": item.field, "error": item.error, "code": item.code} for item in fields]
