"""Rows as they are shown: times as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from postroom.domain.attachment import attachment_object, attachments_of_text
from postroom.domain.markup import revision_of_text
from postroom.domain.time import to_text
from postroom.world.store.tables.delivery_columns import PRIORITIES, read_format


def readable(row: Mapping[Any, Any]) -> dict[str, Any]:
    """Moments and ranks as text, and nothing that only the machinery needs."""
    shown = {name: _shown(name, value) for name, value in row.items() if name not in _INTERNAL}
    revision = revision_of_text(shown.pop("revises", None))
    return shown | ({"revises": revision.delivery_id} if revision else {})


_MOMENTS = frozenset(
    {
        "created_at",
        "updated_at",
        "terminal_at",
        "started_at",
        "completed_at",
        "received_at",
        "not_before",
        "discarded_at",
        "doubtful_since",
        "at",
    }
)


# What stands under a message can be as good as an answer to it, so that only the person may see it.
_INTERNAL = frozenset(
    {"fingerprint", "order_key", "fence", "sending", "lease_until", "delivery_request_id", "markup", "handed_by"}
)


def _shown(name: str, value: Any) -> Any:
    if name in _MOMENTS and value is not None:
        return to_text(value)
    if name == "attachments":
        return [attachment_object(one) for one in attachments_of_text(value)]
    if name == "format":
        return str(read_format(value))
    return str(PRIORITIES[value]) if name == "priority" else value
