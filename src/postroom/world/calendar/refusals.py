"""What Google's answers mean, by status and reason and never by words."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from postroom.domain.calendar import EventChanged, EventExists, EventMissing
from postroom.domain.errors import PostroomError, ProviderThrottled, TargetUnavailable, ValidationError

_LIMITS: Final = frozenset(
    {"rateLimitExceeded", "userRateLimitExceeded", "quotaExceeded", "calendarUsageLimitsExceeded"}
)
_REASON: Final = re.compile(r"[A-Za-z_]{1,60}")


class NotNow(TargetUnavailable):
    """Google turned the request away before it began with it."""


class LoginExpired(TargetUnavailable):
    """The access token is not accepted; a new one may be."""


def reason_of(body: bytes) -> str:
    """Google's own word for it, or nothing."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    error = document.get("error") if isinstance(document, Mapping) else None
    if isinstance(error, str):  # the token endpoint
        return error if _REASON.fullmatch(error) else ""
    errors = error.get("errors") if isinstance(error, Mapping) else None
    first: Any = errors[0] if isinstance(errors, list) and errors else {}
    reason = first.get("reason") if isinstance(first, Mapping) else None
    return reason if isinstance(reason, str) and _REASON.fullmatch(reason) else ""


def refusal(status: int, reason: str, wait_seconds: float) -> PostroomError:
    said = f"Google Calendar answered {status}" + (f" ({reason})" if reason else "")
    if status == 429 or (status == 403 and reason in _LIMITS):
        return ProviderThrottled(said, retry_after_seconds=wait_seconds)
    match status:
        case 401:
            return LoginExpired(said)
        case 404 | 410:
            return EventMissing("there is no such event, or it was deleted")
        case 409:
            return EventExists("an event with this id exists already")
        case 412:
            return EventChanged("the event was changed by somebody else in the meantime; read it again")
        case 503:
            return NotNow(said, retry_after_seconds=wait_seconds)
        case _ if 400 <= status < 500:
            return ValidationError(said)
        case _:
            return TargetUnavailable(said, retry_after_seconds=wait_seconds)
