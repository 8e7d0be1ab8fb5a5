"""The parts of an inbox as a person sorts them: every notification lies on exactly one."""

from __future__ import annotations

from enum import StrEnum


class Shelf(StrEnum):
    UNREAD = "unread"
    READ = "read"
    SNOOZED = "snoozed"
    ARCHIVED = "archived"
    DISMISSED = "dismissed"
