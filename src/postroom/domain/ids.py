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
_RANDOM_BYTES = 8 * 128


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
        self._random = b""

    def mint(self, now_us: int) -> str:
        with self._lock:
            tick = max((now_us // 1000) << _SEQUENCE_BITS, self._last + 1)
            self._last = tick
            if not self._random:
                self._random = secrets.token_bytes(_RANDOM_BYTES)  # one visit to the system for many ids
            eight, self._random = self._random[:8], self._random[8:]
        milliseconds, sequence = tick >> _SEQUENCE_BITS, tick & 0xFFF
        tail = (int.from_bytes(eight) >> 2) | (0b10 << 62)
        value = f"{milliseconds & 0xFFFFFFFFFFFF:012x}7{sequence:03x}{tail:016x}"
        return f"{value[:8]}-{value[8:12]}-{value[12:16]}-{value[16:20]}-{value[20:]}"


def first_id_at(moment_us: int) -> str:
    """Not above any id minted in this millisecond or later, so that a range of ids is a range of time."""
    value = f"{(moment_us // 1000) & 0xFFFFFFFFFFFF:012x}"
    return f"{value[:8]}-{value[8:]}-7000-8000-000000000000"


def moment_of(identifier: str) -> int:
    """When it was minted, in microseconds."""
    return int(identifier[:8] + identifier[9:13], 16) * 1000


def is_uuid(text: str) -> bool:
    return _UUID.fullmatch(text.lower()) is not None
