"""Move settled deliveries from the ledger into the archive, a small batch at a time."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, and_, delete, func, insert, not_, or_, select, tuple_

from postroom.domain.delivery import TERMINAL, Status
from postroom.domain.intent import TERMINAL as ENDED
from postroom.world.store.engine.looked_up import looked_up
from postroom.world.store.retention.archive_months import make_months
from postroom.world.store.tables.approvals import pending_actions
from postroom.world.store.tables.archive import delivery_archive
from postroom.world.store.tables.deliveries import (
    delivery_attempts,
    delivery_dead_letter,
    delivery_news,
    delivery_receipts,
    delivery_replies,
    delivery_requests,
)
from postroom.world.store.tables.intents import intents
from postroom.world.store.tables.notifications_log import notifications_log

_requests = delivery_requests.c
_replay = delivery_requests.alias("replay")
_letter = delivery_dead_letter.alias("letter")
_SETTLED: Final = sorted(str(status) for status in TERMINAL)
_NARRATED: Final = (delivery_attempts, delivery_receipts, delivery_news, delivery_replies, delivery_dead_letter)
_ANSWERED_FROM: Final = [column.name for column in delivery_archive.columns if column.name in delivery_requests.c]

Place = tuple[int, str]
START: Final[Place] = (-1, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
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


def move(connection: Connection, settled_before_us: int, now_us: int, limit: int, after: Place) -> Moved:
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
        return Moved(deliveries=0, place=None)
    ids = [one for _, one in originals]
    rows = [
        dict(row)
        for members in (_requests.id.in_(ids), _requests.replay_of.in_(ids))
        for row in connection.execute(select(delivery_requests).where(members)).mappings()
    ]
    make_months(connection, (row["terminal_at"] for row in rows))
    connection.execute(insert(delivery_archive), _archive_rows(connection, rows, now_us))
    _remove(connection, [row["id"] for row in rows])
    return Moved(deliveries=len(rows), place=originals[-1] if len(originals) == limit else None)


def _archive_rows(connection: Connection, rows: Sequence[dict[str, Any]], now_us: int) -> list[dict[str, Any]]:
    ids = [row["id"] for row in rows]
    attempts, receipts, news, replies, letters = (_by_delivery(connection, table, ids) for table in _NARRATED)
    decided = connection.execute(select(pending_actions).where(pending_actions.c.id.in_(ids))).mappings()
    approvals = {row["id"]: dict(row) for row in decided}
    hops = _hops(connection, {row["request_id"] for row in rows})
    return [
        {name: row[name] for name in _ANSWERED_FROM}
        | {
            "settled_at": row["terminal_at"],
            "archived_at": now_us,
            "record": json.dumps(
                {
                    "request": row,
                    "attempts": attempts[row["id"]],
                    "receipts": receipts[row["id"]],
                    "news": news[row["id"]],
                    "replies": replies[row["id"]],
                    "dead_letter": next(iter(letters[row["id"]]), None),
                    "approval": approvals.get(row["id"]),
                    "hops": hops[row["request_id"]],
                },
                ensure_ascii=False,
            ),
        }
        for row in rows
    ]


def _by_delivery(connection: Connection, table: Any, ids: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    found = connection.execute(select(table).where(table.c.delivery_request_id.in_(ids)).order_by(*table.primary_key))
    kept: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in found.mappings():
        kept[row["delivery_request_id"]].append(dict(row))
    return kept


def _hops(connection: Connection, request_ids: set[str]) -> dict[str, list[dict[str, Any]]]:
    """Copied, not moved: another delivery of the same request may still be in the ledger."""
    asked = select(notifications_log).where(notifications_log.c.request_id.in_(request_ids))
    kept: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in connection.execute(asked).mappings():
        kept[row["request_id"]].append(dict(row))
    return kept


def _remove(connection: Connection, ids: Sequence[str]) -> None:
    """What hangs on a delivery first: the database would otherwise look for it row by row."""
    for table in _NARRATED:
        connection.execute(delete(table).where(table.c.delivery_request_id.in_(ids)))
    connection.execute(delete(pending_actions).where(pending_actions.c.id.in_(ids)))
    connection.execute(delete(delivery_requests).where(_requests.id.in_(ids)))
