"""Time as one integer: microseconds since 1970 in UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

SECOND_US = 1_000_000
_RFC3339 = re.compile(r"\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def to_us(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)


def to_datetime(us: int) -> datetime:
    return _EPOCH + timedelta(microseconds=us)


def to_text(us: int) -> str:
    return to_datetime(us).isoformat(timespec="microseconds").replace("+00:00", "Z")


def parse_text(text: str) -> int:
    """RFC 3339 with an offset; raises ValueError otherwise."""
    if not _RFC3339.fullmatch(text):
        raise ValueError("not an RFC 3339 time with an offset")
    return to_us(datetime.fromisoformat(text.upper()))


def seconds(value: float) -> int:
    """A duration in seconds as microseconds."""
    return round(value * SECOND_US)
