"""The time zones this machine knows, by their IANA names."""

from __future__ import annotations

from functools import cache
from typing import Final
from zoneinfo import available_timezones

_NOT_NAMES: Final = frozenset({"localtime", "posixrules", "Factory"})  # files beside the zones, not places


@cache
def zone_names() -> frozenset[str]:
    return frozenset(available_timezones()) - _NOT_NAMES


def is_zone(name: str) -> bool:
    """By list, because asking for a zone by an arbitrary name opens an arbitrary file."""
    return name in zone_names()
