"""The parts of an inbox as a person sorts them: every notification lies on exactly one."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

MOST_SHELVED: Final = 1_000  # a person reads "more than 1,000" on a shelf as well as any figure above it


class Shelf(StrEnum):
    UNREAD = "unread"
    READ = "read"
    SNOOZED = "snoozed"
    ARCHIVED = "archived"
    DISMISSED = "dismissed"
