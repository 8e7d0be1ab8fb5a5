"""Identifiers: time-ordered, so that reading by id is reading by age."""

from __future__ import annotations

import re
import secrets
import threading
from typing import NewType

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
