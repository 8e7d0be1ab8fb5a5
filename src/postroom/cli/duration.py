"""Lengths of time as people type them: 90s, 15m, 1h, 2d, 1h30m, or a number of seconds."""

from __future__ import annotations

import re
from typing import Final

from postroom.domain.settings_error import SettingsError

_UNITS: Final = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)([dhms])", re.ASCII)
_WHOLE: Final = re.compile(rf"(?:{_PART.pattern})+|\d+(?:\.\d+)?", re.ASCII)
_LONGEST_DIGITS: Final = 20


def seconds_of(text: str, option: str) -> float:
    typed = text.strip().lower()
    if not _WHOLE.fullmatch(typed) or len(typed) > _LONGEST_DIGITS:
        raise SettingsError(f"{option}: '{text}' is no length of time; write it like 90s, 15m, 1h or 2d.")
    parts = _PART.findall(typed)
    return sum(float(number) * _UNITS[unit] for number, unit in parts) if parts else float(typed)
