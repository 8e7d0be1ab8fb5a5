"""What an ntfy server's answers mean; pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from postroom.domain.delivery import Receipt
from postroom.domain.errors import (
    CredentialsRefused,
    OutcomeUncertain,
    PostroomError,
    ProviderFailed,
    ProviderThrottled,
    TargetUnavailable,
    ValidationError,
)
from postroom.domain.patience import LONGEST_SECONDS, shortened
from postroom.world.http.http_call import HttpAnswer
from postroom.world.http.retry_after import asked_seconds

_DAILY: Final = frozenset({42905, 42908})  # bandwidth and messages are counted by the day
_REFILL_SECONDS: Final = 5.0  # a request comes back every five seconds
_JUST_BEGUN_SECONDS: Final = 300.0  # a day that begins there a little later than here
_SOON_SECONDS: Final = 60.0
_BROKE_WHILE_ANSWERING: Final = frozenset({500, 502, 504})


def parse(body: bytes) -> Mapping[str, Any]:
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return told if isinstance(told, Mapping) else {}


def events(body: bytes) -> Iterator[Mapping[str, Any]]:
    """One to a line; what is no event says nothing."""
    return (event for line in body.splitlines() if (event := parse(line)))


def read_receipt(answer: HttpAnswer) -> Receipt:
    name = parse(answer.body).get("id")
    if not isinstance(name, str) or not name:
        raise OutcomeUncertain("ntfy accepted the message and named none")
    return Receipt(name)


def read_refusal(answer: HttpAnswer, words: str, now: datetime) -> PostroomError:
    status, code = answer.status, parse(answer.body).get("code")
    said = f"ntfy answered {status}" + (f": {words}" if words else "")
    match status:
        case 429:
            return _throttled(said, code, answer.retry_after, now)
        case 401:
            return CredentialsRefused("ntfy does not accept our token")
        case 403:
            return CredentialsRefused("ntfy does not allow us this topic: the token needs access to it")
        case 507:
            return ValidationError(f"{said}; the topic takes no messages")
        case _ if 400 <= status < 500:
            return ValidationError(said)
        case _:
            return ProviderFailed(said) if status in _BROKE_WHILE_ANSWERING else TargetUnavailable(said)


def _throttled(said: str, code: object, retry_after: str | None, now: datetime) -> ProviderThrottled:
    if code in _DAILY:
        return ProviderThrottled(f"{said}; the day's quota is used up", retry_after_seconds=until_reset(now))
    asked = asked_seconds(None if retry_after else _REFILL_SECONDS, retry_after, now)
    return ProviderThrottled(said + shortened(asked), retry_after_seconds=min(asked, LONGEST_SECONDS))


def until_reset(now: datetime) -> float:
    """Quotas begin anew at midnight UTC, by the server's clock."""
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    if (now - today).total_seconds() < _JUST_BEGUN_SECONDS:
        return _SOON_SECONDS
    return (today + timedelta(days=1) - now).total_seconds()
