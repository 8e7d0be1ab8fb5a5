"""How much is in flight, read from the indexes that hold nothing else."""

from __future__ import annotations

from sqlalchemy import Connection, func, select, text

from postroom.domain.figures import Depth
from postroom.store.tables.deliveries import delivery_requests

_requests = delivery_requests.c
_OPEN = text("status IN ('pending', 'in_progress')")  # spelled as in the partial index, or it would not be used


def depth(connection: Connection, channel: str | None) -> Depth:
    counted = select(
        _requests.channel, _requests.status, func.count().label("many"), func.min(_requests.created_at).label("oldest")
    ).where(_OPEN)
    if channel is not None:
        counted = counted.where(_requests.channel == channel)
    rows = connection.execute(counted.group_by(_requests.channel, _requests.status)).all()
    return Depth(
        counts={(row.channel, row.status): row.many for row in rows},
        oldest_created_at_us=min((row.oldest for row in rows), default=None),
    )
