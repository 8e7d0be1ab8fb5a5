"""What an HTTP status other than success means for a message, where a service defines nothing of its own."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from postroom.domain.errors import (
    CredentialsRefused,
    PostroomError,
    ProviderFailed,
    ProviderThrottled,
    TargetUnavailable,
    ValidationError,
)
from postroom.domain.patience import LONGEST_SECONDS, shortened
from postroom.world.http.retry_after import asked_seconds

_BROKE_WHILE_ANSWERING: Final = frozenset({500, 502, 504})  # 503 says that nothing was begun


def refusal(service: str, status: int, retry_after: str | None, now: datetime, *, ours: str) -> PostroomError:
    """Nothing of the answer's own words, which may quote the message; `ours` is what a service knows us by."""
    return _meaning(service, status, retry_after, now, ours).told_by(status)


def _meaning(service: str, status: int, retry_after: str | None, now: datetime, ours: str) -> PostroomError:
    said = f"{service} answered {status}"
    if status == 429:
        asked = asked_seconds(None, retry_after, now)
        return ProviderThrottled(said + shortened(asked), retry_after_seconds=min(asked, LONGEST_SECONDS))
    if status in (401, 403):
        return CredentialsRefused(f"{service} does not accept our {ours} ({status})")
    if status == 410:
        return ValidationError(f"{service} is gone and takes no more messages (410)")
    if 300 <= status < 400:
        return TargetUnavailable(f"{said}; it wants to send us elsewhere, and no redirect is followed")
    if 400 <= status < 500:
        return ValidationError(said)
    return ProviderFailed(said) if status in _BROKE_WHILE_ANSWERING else TargetUnavailable(said)
