"""Time as one integer: microseconds since 1970 in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

SECOND_US = 1_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def to_us(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)


def to_datetime(us: int) -> datetime:
    return _EPOCH + timedelta(microseconds=us)


def to_text(us: int) -> str:
    return to_datetime(us).isoformat(timespec="microseconds").replace("+00:00", "Z")


def parse_text(text: str) -> int:
    """RFC 3339 with an offset; raises ValueError otherwise."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("a time zone offset is required")
    return to_us(moment)


def seconds(value: float) -> int:
    """A duration in seconds as microseconds."""
    return round(value * SECOND_US)
