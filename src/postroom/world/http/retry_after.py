"""How long a provider asks us to wait, from whatever it wrote down."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from postroom.domain.patience import LONGEST_SECONDS

DEFAULT_SECONDS = 1.0
_MOST_SECONDS = 1e12  # what a number may be before it is called endless

_SECONDS = re.compile(r"[0-9]{1,12}(\.[0-9]{1,6})?")


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
