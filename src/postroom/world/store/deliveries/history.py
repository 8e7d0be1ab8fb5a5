"""The record as one connection sees it: what happened to a message, and what stands around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from postroom.domain.notification import Notification, Preferences
from postroom.world.store.deliveries import context
from postroom.world.store.deliveries.id_prefix import ids_with_prefix
from postroom.world.store.deliveries.trace import request_ids, trace


@dataclass(frozen=True, slots=True)
class StoredHistory:
    connection: Connection

    def trace(self, identifier: str) -> dict[str, Any]:
        return trace(self.connection, request_ids(self.connection, identifier)[0])

    def note(self, identifier: str) -> tuple[Notification, Preferences, dict[str, Any] | None] | None:
        return context.note(self.connection, identifier)

    def around(self, delivery_id: str, channel: str) -> dict[str, Any]:
        return context.surroundings(self.connection, delivery_id, channel)

    def with_prefix(self, prefix: str, *, origin: str | None, most: int) -> dict[str, str]:
        return ids_with_prefix(self.connection, prefix, origin=origin, most=most)

    def recent_ids(self, limit: int) -> list[str]:
        return context.recent_ids(self.connection, limit)
