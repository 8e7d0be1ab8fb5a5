"""How long things stay before they leave the ledger."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from postroom.domain.time import SECOND_US

DAY_US: Final = 86_400 * SECOND_US
QUESTION_WORDS_US: Final = 30 * DAY_US
AUDIT_US: Final = 365 * DAY_US
_QUESTION_US: Final = 365 * DAY_US  # who was asked, when, and how it ended
_UNITS_US: Final = {"h": 3600 * SECOND_US, "d": DAY_US, "w": 7 * DAY_US}
_SPAN: Final = re.compile(r"(\d{1,6})\s*([hdw])", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """
    What was settled before the first moment is removed.

    Of questions that ended before `words_before_us` the words are erased; older ones go altogether.
    """

    settled_before_us: int
    now_us: int
    words_before_us: int = 0
    questions_before_us: int = 0
    audit_before_us: int = 0  # who did what


def retention(now_us: int, settled_us: int, words_us: int = QUESTION_WORDS_US, audit_us: int = AUDIT_US) -> Retention:
    return Retention(
        settled_before_us=now_us - settled_us,
        now_us=now_us,
        words_before_us=now_us - words_us,
        questions_before_us=now_us - max(words_us, _QUESTION_US),
        audit_before_us=now_us - audit_us,
    )


def read_span(text: str) -> int:
    """`90d`, `12h` or `4w` in microseconds; raises ValueError on anything else."""
    found = _SPAN.fullmatch(text.strip().lower())
    if found is None or int(found[1]) == 0:
        raise ValueError("it is a whole number with its unit: 12h, 90d or 4w")
    return int(found[1]) * _UNITS_US[found[2]]
