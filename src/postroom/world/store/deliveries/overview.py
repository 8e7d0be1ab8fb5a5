"""The first page's figures, each read from an index, so that a million deliveries cost no more than a thousand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Select, func, literal, not_, select, text, union_all

from postroom.domain.approval import ActionStatus
from postroom.domain.delivery import QuarantineReason, Status
from postroom.domain.ids import first_id_at, moment_of
from postroom.domain.overview import MOST_COUNTED, DeadLetterCounts, Tally
from postroom.world.store.deliveries.correction_rows import was_kept_back
from postroom.world.store.engine.database import Database
from postroom.world.store.tables.approvals import pending_actions
from postroom.world.store.tables.deliveries import delivery_dead_letter, delivery_requests

_requests = delivery_requests.c
_UNTOUCHED = text("discarded_at IS NULL AND replay_count = 0")  # spelled as in the partial index
_COUNTED = (Status.DELIVERED, Status.FAILED, Status.DEAD_LETTERED)
_LOOKED_AT = 500


class StoredOverview:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def tallies(self, channels: Sequence[str], since_us: int) -> Sequence[Tally]:
        return await self._database.read(lambda connection: tallies(connection, channels, since_us))

    async def trouble(self) -> DeadLetterCounts:
        return await self._database.read(trouble)

    async def awaiting_approval(self, now_us: int) -> int:
        return await self._database.read(lambda connection: awaiting_approval(connection, now_us))

    async def pulse(self) -> dict[str, tuple[Any, ...]]:
        return await self._database.read(pulse)


def tallies(connection: Connection, channels: Sequence[str], since_us: int) -> list[Tally]:
    """An id is a time, so the index over channel, status and id answers for a window of time."""
    if not channels:
        return []
    first = first_id_at(since_us)
    counts = union_all(*(_count(channel, status, first) for channel in channels for status in _COUNTED))
    found = {(row.channel, Status(row.status)): row.many for row in connection.execute(counts)}
    return [
        Tally(
            channel=channel,
            counts={status: found[channel, status] for status in _COUNTED},
            last_delivered_at_us=_last_delivered(connection, channel),
        )
        for channel in channels
    ]


def trouble(connection: Connection) -> DeadLetterCounts:
    reason = delivery_dead_letter.c.quarantine_reason
    counted = select(reason, func.count().label("many")).where(_UNTOUCHED).group_by(reason)
    found = {QuarantineReason(row.quarantine_reason): row.many for row in connection.execute(counted)}
    return DeadLetterCounts(
        given_up=found.get(QuarantineReason.RETRIES_EXHAUSTED, 0),
        held=found.get(QuarantineReason.OUTCOME_UNCERTAIN, 0),
    )


def awaiting_approval(connection: Connection, now_us: int) -> int:
    actions = pending_actions.c
    waiting = select(func.count()).where(actions.status == str(ActionStatus.PENDING), actions.expires_at > now_us)
    return int(connection.execute(waiting).scalar_one())


def pulse(connection: Connection) -> dict[str, tuple[Any, ...]]:
    """
    For each topic the moment of the newest change, then something that differs when more has happened.

    Bounded, because it is asked every second: with more open deliveries than are
    looked at, the newest id and the dead letters still move.
    """
    newest = select(func.max(_requests.id)).scalar_subquery()
    letters = select(func.max(delivery_dead_letter.c.created_at)).scalar_subquery()
    open_rows = (
        select(_requests.updated_at)
        .where(text("status IN ('pending', 'in_progress')"))
        .limit(_LOOKED_AT)
        .subquery("open_rows")
    )
    moving = select(func.count(), func.max(open_rows.c.updated_at), newest, letters).select_from(open_rows)
    actions = pending_actions.c
    waiting = select(func.count(), func.max(actions.id)).where(actions.status == str(ActionStatus.PENDING))
    count, moved_at, newest_id, lettered_at = connection.execute(moving).one()
    parked, newest_action = connection.execute(waiting).one()
    came_at, asked_at = (moment_of(one) if one else 0 for one in (newest_id, newest_action))
    return {
        "deliveries": (max(moved_at or 0, came_at, lettered_at or 0), count, moved_at, newest_id, lettered_at),
        "approvals": (asked_at, parked, newest_action),
    }


def _count(channel: str, status: Status, first_id: str) -> Select[str, str, int]:
    matching = (
        select(_requests.id)
        .where(_requests.channel == channel, _requests.status == str(status), _requests.id >= first_id)
        .where(*([not_(was_kept_back())] if status is Status.FAILED else []))
        .limit(MOST_COUNTED + 1)
        .subquery()
    )
    return select(
        literal(channel).label("channel"), literal(str(status)).label("status"), func.count().label("many")
    ).select_from(matching)


def _last_delivered(connection: Connection, channel: str) -> int | None:
    newest = (
        select(_requests.terminal_at)
        .where(_requests.channel == channel, _requests.status == str(Status.DELIVERED))
        .order_by(_requests.id.desc())
        .limit(1)
    )
    return connection.execute(newest).scalar()
