"""What can be asked of the record of deliveries."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from postroom.domain.delivery import Intent, Status
from postroom.domain.errors import ErrorClass

DEFAULT_LIMIT: Final = 50
MAX_LIMIT: Final = 500


class GroupBy(StrEnum):
    """Each of these puts every delivery in exactly one group."""

    CHANNEL = "channel"
    INTENT = "intent"
    ORIGIN_BUTLER = "origin_butler"
    OUTCOME = "outcome"  # the delivery's status
    ERROR_CLASS = "error_class"  # of its final error; `none` when it has none


@dataclass(frozen=True, slots=True, kw_only=True)
class RowPage:
    """Newest first, below the id `before`: rows that arrive meanwhile cannot shift what follows."""

    limit: int = DEFAULT_LIMIT
    before: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryQuery:
    page: RowPage = RowPage()
    origin_butler: str | None = None
    channel: str | None = None
    intent: Intent | None = None
    status: Status | None = None
    since_us: int | None = None
    until_us: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterQuery:
    page: RowPage = RowPage()
    channel: str | None = None
    origin_butler: str | None = None
    error_class: ErrorClass | None = None
    since_us: int | None = None
    include_discarded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeRange:
    """Both ends belong to it."""

    since_us: int
    until_us: int
