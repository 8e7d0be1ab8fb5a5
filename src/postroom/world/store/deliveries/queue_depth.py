"""How much is in flight, read from the indexes that hold nothing else."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Select, func, select, text

from postroom.domain.figures import Depth
from postroom.world.store.tables.deliveries import delivery_requests

_requests = delivery_requests.c
_OPEN = text("status IN ('pending', 'in_progress')")  # spelled as in the partial index, or it would not be used


def depth(connection: Connection, channel: str | None) -> Depth:
    rows = connection.execute(counted(channel)).all()
    return Depth(
        counts={(row.channel, row.status): row.many for row in rows},
        oldest_created_at_us=min((row.oldest for row in rows), default=None),
    )


def counted(channel: str | None) -> Select[Any]:
    """What is open is picked out first: grouping the table would walk an index of everything there ever was."""
    found = select(_requests.channel, _requests.status, _requests.created_at).where(_OPEN)
    if channel is not None:
        found = found.where(_requests.channel == channel)
    waiting = found.cte("waiting").prefix_with("MATERIALIZED").c
    return select(
        waiting.channel, waiting.status, func.count().label("many"), func.min(waiting.created_at).label("oldest")
    ).group_by(waiting.channel, waiting.status)
