"""Identifiers and moments: ids are time-ordered, so that reading by id is reading by age."""

from __future__ import annotations

import re
import secrets
import threading
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, NewType, TypeVar, dataclass_transform

# Time as one integer: microseconds since 1970 in UTC.

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


# Identifiers.

DeliveryId = NewType("DeliveryId", str)
DeadLetterId = NewType("DeadLetterId", str)

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_SEQUENCE_BITS = 12
_AT_A_TIME = 128
_VARIANT = str.maketrans("0123456789abcdef", "89ab89ab89ab89ab")


class IdMint:
    """
    UUIDv7 that never goes backwards within one process.

    The twelve bits after the milliseconds count up inside a millisecond, so two
    messages accepted one after the other keep their order even in a fast loop
    or after the clock was set back.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0
        self._endings: list[str] = []

    def mint(self, now_us: int) -> str:
        with self._lock:
            tick = max((now_us // 1000) << _SEQUENCE_BITS, self._last + 1)
            self._last = tick
            if not self._endings:
                self._endings = _endings()
            ending = self._endings.pop()
        moment = f"{tick & 0xFFFFFFFFFFFFFFF:015x}"  # sixty bits: milliseconds and their count
        return f"{moment[:8]}-{moment[8:12]}-7{moment[12:]}-{ending}"


def _endings() -> list[str]:
    """The random half of many ids, for one visit to the system."""
    digits = secrets.token_hex(8 * _AT_A_TIME)
    halves = (digits[start : start + 16] for start in range(0, len(digits), 16))
    return [f"{half[0].translate(_VARIANT)}{half[1:4]}-{half[4:]}" for half in halves]


def first_id_at(moment_us: int) -> str:
    """Not above any id minted in this millisecond or later, so that a range of ids is a range of time."""
    value = f"{min(max(moment_us // 1000, 0), 0xFFFFFFFFFFFF):012x}"  # before 1970 there are none
    return f"{value[:8]}-{value[8:]}-7000-8000-000000000000"


def moment_of(identifier: str) -> int:
    """When it was minted, in microseconds."""
    return int(identifier[:8] + identifier[9:13], 16) * 1000


def is_uuid(text: str) -> bool:
    return _UUID.fullmatch(text.lower()) is not None


# Values that are made many times for every message.

Made = TypeVar("Made")


@dataclass_transform(kw_only_default=True, frozen_default=True)
def record(cls: type[Made]) -> type[Made]:
    """
    A frozen, keyword-only dataclass, held frozen by the type checker alone.

    To be frozen at run time costs more than half of the making of such a value;
    with a few of them for each step of each delivery that was a tenth of our time.
    """
    return dataclass(slots=True, kw_only=True, unsafe_hash=True)(cls)


def altered(value: Made, **changes: Any) -> Made:
    """A record with some of its fields changed; quicker than `dataclasses.replace`."""
    kind = type(value)
    made = object.__new__(kind)
    for name in _names(kind):  # type: ignore[arg-type]  # types can be hashed
        setattr(made, name, changes.pop(name) if name in changes else getattr(value, name))
    if changes:
        raise TypeError(f"{kind.__name__} has no {', '.join(changes)}")
    return made


@cache
def _names(kind: type[Any]) -> tuple[str, ...]:
    return tuple(one.name for one in fields(kind))
