"""How long things stay before they leave the ledger."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from postroom.domain.time import SECOND_US, to_datetime, to_us

DAY_US: Final = 86_400 * SECOND_US
QUESTION_WORDS_US: Final = 30 * DAY_US
AUDIT_US: Final = 365 * DAY_US
_QUESTION_US: Final = 365 * DAY_US  # who was asked, when, and how it ended
_UNITS_US: Final = {"h": 3600 * SECOND_US, "d": DAY_US, "w": 7 * DAY_US}
_SPAN: Final = re.compile(r"(\d{1,6})\s*([hdw])", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """
    What was settled before the first moment moves out; archived months before the second are dropped.

    Of questions that ended before the third the words are erased; those before the fourth go altogether.
    """

    settled_before_us: int
    now_us: int
    drop_archive_before_us: int | None = None  # the first moment of a month
    words_before_us: int = 0
    questions_before_us: int = 0
    audit_before_us: int = 0  # who did what


def retention(
    now_us: int,
    settled_us: int,
    archive_us: int | None,
    words_us: int = QUESTION_WORDS_US,
    audit_us: int = AUDIT_US,
) -> Retention:
    """The archive is kept by months, so the month in which its span ends stays whole."""
    return Retention(
        settled_before_us=now_us - settled_us,
        now_us=now_us,
        drop_archive_before_us=None if archive_us is None else month_start(now_us - archive_us),
        words_before_us=now_us - words_us,
        questions_before_us=now_us - max(words_us, _QUESTION_US),
        audit_before_us=now_us - audit_us,
    )


def month_start(moment_us: int) -> int:
    return to_us(to_datetime(moment_us).replace(day=1, hour=0, minute=0, second=0, microsecond=0))


def read_span(text: str) -> int:
    """`90d`, `12h` or `4w` in microseconds; raises ValueError on anything else."""
    found = _SPAN.fullmatch(text.strip().lower())
    if found is None or int(found[1]) == 0:
        raise ValueError("it is a whole number with its unit: 12h, 90d or 4w")
    return int(found[1]) * _UNITS_US[found[2]]
