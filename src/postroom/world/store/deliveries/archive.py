"""Read what has left the ledger: a delivery's whole story, as it was on the day it was archived."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, select

from postroom.domain.time import to_text
from postroom.world.store.tables.archive import delivery_archive

_archive = delivery_archive.c


def archived(connection: Connection, delivery_id: str) -> dict[str, Any] | None:
    """
    Rows as the tables had them.

    `request`, `attempts`, `receipts`, `news`, `replies`, `dead_letter`, `approval`, `hops`.
    """
    found = connection.execute(select(_archive.record, _archive.archived_at).where(_archive.id == delivery_id)).first()
    return _opened(found) if found else None


def archived_of(connection: Connection, request_id: str) -> list[dict[str, Any]]:
    """Everything archived under a request, oldest first."""
    asked = select(_archive.record, _archive.archived_at).where(_archive.request_id == request_id)
    found = [_opened(row) for row in connection.execute(asked)]
    return sorted(found, key=lambda one: (one["request"]["created_at"], one["request"]["id"]))


def request_behind(connection: Connection, identifier: str) -> str | None:
    asked = select(_archive.request_id).where((_archive.id == identifier) | (_archive.request_id == identifier))
    found: str | None = connection.execute(asked.limit(1)).scalar()
    return found


def hops_of(records: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Deliveries of one request share its hops, and each of them brought a copy."""
    hops = {hop["id"]: hop for record in records for hop in record["hops"]}
    return sorted(hops.values(), key=lambda hop: (hop["created_at"], hop["id"]))


def _opened(row: Any) -> dict[str, Any]:
    record: dict[str, Any] = {"news": [], "replies": []} | json.loads(row.record)  # there was none to keep at first
    return record | {"archived_at": to_text(row.archived_at)}
