"""Remove settled deliveries from the ledger, a small batch at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import ColumnElement, Connection, and_, delete, func, not_, or_, select, tuple_

from postroom.domain.delivery import TERMINAL, Status
from postroom.domain.intent import TERMINAL as ENDED
from postroom.world.store.engine.looked_up import looked_up
from postroom.world.store.tables.approvals import pending_actions
from postroom.world.store.tables.deliveries import (
    delivery_attempts,
    delivery_dead_letter,
    delivery_news,
    delivery_receipts,
    delivery_replies,
    delivery_requests,
)
from postroom.world.store.tables.intents import intents

_requests = delivery_requests.c
_replay = delivery_requests.alias("replay")
_letter = delivery_dead_letter.alias("letter")
_SETTLED: Final = sorted(str(status) for status in TERMINAL)
_NARRATED: Final = (delivery_attempts, delivery_receipts, delivery_news, delivery_replies, delivery_dead_letter)

Place = tuple[int, str]
START: Final[Place] = (-1, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """How many went, and the place to go on from; None when that was the last of them."""

    deliveries: int
    place: Place | None


def due(settled_before_us: int) -> ColumnElement[bool]:
    """
    The originals that may go, each with all its replays.

    A lineage goes as a whole or stays as a whole, and stays for as long as a person
    may still want something of it: a letter nobody has decided on, a replay that is
    not over, an intent that still waits for the answer to this message.
    """
    replays = _replay.c.replay_of == _requests.id
    unfinished = looked_up(replays, or_(_replay.c.terminal_at.is_(None), _replay.c.terminal_at >= settled_before_us))
    arrived = looked_up(replays, _replay.c.status == str(Status.DELIVERED))
    undecided = or_(_letter.c.discarded_at.is_(None), _letter.c.discarded_at >= settled_before_us)
    own_letter = looked_up(_letter.c.delivery_request_id == _requests.id, undecided)
    later_letter = looked_up(_letter.c.delivery_request_id == _replay.c.id, replays, undecided)
    awaited = looked_up(intents.c.id == _requests.request_id, intents.c.status.not_in(sorted(map(str, ENDED))))
    return and_(
        _requests.created_at < settled_before_us,  # implied by the next line, and the one with an index
        _requests.terminal_at < settled_before_us,
        _requests.status.in_(_SETTLED),
        _requests.replay_of.is_(None),
        not_(unfinished),
        or_(arrived, and_(not_(own_letter), not_(later_letter))),
        not_(awaited),
    )


def count(connection: Connection, settled_before_us: int) -> int:
    replays = _replay.c.replay_of == _requests.id
    made = select(func.count()).select_from(_replay).where(replays).correlate(delivery_requests).scalar_subquery()
    asked = select(func.coalesce(func.sum(1 + made), 0)).select_from(delivery_requests).where(due(settled_before_us))
    return int(connection.execute(asked).scalar_one())


def remove(connection: Connection, settled_before_us: int, limit: int, after: Place) -> Removed:
    """One transaction; whatever somebody else is working on is left for the next run."""
    asked = (
        select(_requests.created_at, _requests.id)
        .where(due(settled_before_us), tuple_(_requests.created_at, _requests.id) > tuple_(*after))
        .order_by(_requests.created_at, _requests.id)
        .limit(limit)
        .with_for_update(of=delivery_requests, skip_locked=True)
    )
    originals = [(at, one) for at, one in connection.execute(asked)]
    if not originals:
        return Removed(deliveries=0, place=None)
    ids = [one for _, one in originals]
    ids += connection.execute(select(_requests.id).where(_requests.replay_of.in_(ids))).scalars()
    _remove(connection, ids)
    return Removed(deliveries=len(ids), place=originals[-1] if len(originals) == limit else None)


def _remove(connection: Connection, ids: Sequence[str]) -> None:
    """What hangs on a delivery first: the database would otherwise look for it row by row."""
    for table in _NARRATED:
        connection.execute(delete(table).where(table.c.delivery_request_id.in_(ids)))
    connection.execute(delete(pending_actions).where(pending_actions.c.id.in_(ids)))
    connection.execute(delete(delivery_requests).where(_requests.id.in_(ids)))
