"""A calendar somewhere else: what can be asked of it, and the answers that are no failures of ours."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol

from postroom.domain.errors import TargetUnavailable, ValidationError


class ConflictPolicy(StrEnum):
    SUGGEST = "suggest"  # create nothing, propose free times
    FAIL = "fail"  # create nothing
    ALLOW_OVERLAP = "allow_overlap"


class EventMissing(ValidationError):
    """There is no such event, or not any more."""


class EventExists(ValidationError):
    """An event with this id was created before."""


class EventChanged(TargetUnavailable):
    """Somebody changed the event since it was read."""


class CalendarSource(Protocol):
    """Events as its provider writes them; every method raises one of our errors."""

    def pages(self, start: datetime, end: datetime) -> AsyncIterator[list[Any]]: ...

    async def get(self, event_id: str) -> dict[str, Any]: ...

    async def insert(self, body: Mapping[str, Any]) -> dict[str, Any]: ...

    async def patch(self, event_id: str, body: Mapping[str, Any], etag: str) -> dict[str, Any]: ...

    async def delete(self, event_id: str, etag: str | None) -> None: ...

    async def close(self) -> None: ...
