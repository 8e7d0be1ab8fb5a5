"""What a provider said: its JSON, its words made safe to show, what its status means, how long to wait."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

from postroom.kernel.values.errors import (
    LONGEST_SECONDS,
    CredentialsRefused,
    PostroomError,
    ProviderFailed,
    ProviderThrottled,
    TargetUnavailable,
    ValidationError,
    shortened,
)

# Its JSON, of which nothing is certain; and what we say to it.

JsonObject = Mapping[str, Any]
JsonBody = dict[str, Any]


def json_object(said: bytes | str) -> JsonObject:
    """Empty for what is no JSON, and for JSON that is no object."""
    try:
        return as_object(json.loads(said))
    except (ValueError, RecursionError):
        return {}


def as_object(value: object) -> JsonObject:
    return value if isinstance(value, Mapping) else {}


def objects_in(value: object) -> list[JsonObject]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


# Its words.

LONGEST = 200
_SHORTEST_QUOTE = 6  # a shorter line would match half of every sentence


def provider_words(said: object, *, secrets: Iterable[str] = (), private: Iterable[str] = ()) -> str:
    """
    The sentence without line breaks, credentials and message content.

    A credential is blanked out; a sentence that quotes the message is dropped whole.
    """
    if not isinstance(said, str):
        return ""
    if any(_quotes(said, text) for text in private):
        return ""
    for secret in secrets:
        if secret:
            said = said.replace(secret, "***")
    one_line = "".join(character if character.isprintable() else " " for character in said)
    return " ".join(one_line.split())[:LONGEST]


def _quotes(said: str, text: str) -> bool:
    lines = (line.strip() for line in text.splitlines())
    return any(len(line) >= _SHORTEST_QUOTE and line in said for line in lines)


# What an HTTP status other than success means for a message, where a service defines nothing of its own.

_BROKE_WHILE_ANSWERING: Final = frozenset({500, 502, 504})  # 503 says that nothing was begun


def refusal(service: str, status: int, retry_after: str | None, now: datetime, *, ours: str) -> PostroomError:
    """Nothing of the answer's own words, which may quote the message; `ours` is what a service knows us by."""
    return _meaning(service, status, retry_after, now, ours).told_by(status)


def _meaning(service: str, status: int, retry_after: str | None, now: datetime, ours: str) -> PostroomError:
    said = f"{service} answered {status}"
    if status == 429:
        return throttled(said, asked_seconds(None, retry_after, now))
    if status in (401, 403):
        return CredentialsRefused(f"{service} does not accept our {ours} ({status})")
    if status == 410:
        return ValidationError(f"{service} is gone and takes no more messages (410)")
    if 300 <= status < 400:
        return TargetUnavailable(f"{said}; it wants to send us elsewhere, and no redirect is followed")
    return by_status(said, status)


def by_status(said: str, status: int) -> PostroomError:
    """Of one that has no other meaning: the request is at fault, or else the provider."""
    return ValidationError(said) if 400 <= status < 500 else broken(said, status)


def broken(said: str, status: int) -> TargetUnavailable:
    """The provider's own trouble."""
    return ProviderFailed(said) if status in _BROKE_WHILE_ANSWERING else TargetUnavailable(said)


# How long a provider asks us to wait, from whatever it wrote down.

DEFAULT_SECONDS = 1.0
_MOST_SECONDS = 1e12  # what a number may be before it is called endless

_SECONDS = re.compile(r"[0-9]{1,12}(\.[0-9]{1,6})?")


def throttled(said: str, asked_seconds: float) -> ProviderThrottled:
    """Waits as long as it asks, within reason, and says so where that is less."""
    if asked_seconds <= LONGEST_SECONDS:
        return ProviderThrottled(said, retry_after_seconds=asked_seconds)
    error = ProviderThrottled(f"{said}; {shortened(asked_seconds)}", retry_after_seconds=LONGEST_SECONDS)
    error.asked_seconds = asked_seconds
    return error


def wait_seconds(told: object, header: str | None, now: datetime) -> float:
    """What is asked, within reason: a typing error at the provider must not silence a channel for years."""
    return min(asked_seconds(told, header, now), LONGEST_SECONDS)


def asked_seconds(told: object, header: str | None, now: datetime) -> float:
    """The answer's own number first, then the Retry-After header, then a short default."""
    for wait in (_number(told), _header(header, now)):
        if wait is not None:
            return max(wait, 0.0)
    return DEFAULT_SECONDS


def _number(told: object) -> float | None:
    if isinstance(told, bool) or not isinstance(told, int | float):
        return None
    if isinstance(told, float) and not math.isfinite(told):
        return None
    return float(min(told, _MOST_SECONDS))


def _header(header: str | None, now: datetime) -> float | None:
    text = (header or "").strip()
    if _SECONDS.fullmatch(text):
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, IndexError):
        return None
    # "-0000" means UTC without a zone, which the parser hands over as naive
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - now).total_seconds()
