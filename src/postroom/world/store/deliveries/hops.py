"""Who called which part of the household for a request, and when, as its deliveries, notices and refusals tell."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection, select

from postroom.domain.delivery import Intent, Status
from postroom.domain.notice_states import NoticeState
from postroom.domain.outcome import AnswerStatus, answer_to
from postroom.domain.time import to_text
from postroom.world.store.tables.attention import notice_sends, notices

Row = Mapping[Any, Any]
Hop = dict[str, Any]
_SENDS: Final = select(notice_sends.c.delivery_id, notice_sends.c.send).order_by(notice_sends.c.at)


def hops(connection: Connection, request_id: str, deliveries: Sequence[Row], refusals: Iterable[Row]) -> list[Hop]:
    """Oldest first. What became a notice was handed in then, however often and whenever it left."""
    waited = {row["id"]: row for row in _notices(connection, request_id) if _asked(row).get("handed_by")}
    left, carried = dict[str, Row](), set[str]()
    by_id = {row["id"]: row for row in deliveries if row["handed_by"]}
    for delivery_id, send in connection.execute(_SENDS.where(notice_sends.c.delivery_id.in_(by_id))):
        for notice in waited.keys() & set(json.loads(send)["notices"]):
            carried.add(delivery_id)
            left.setdefault(notice, by_id[delivery_id])
    found = [_waited(row, left.get(name)) for name, row in waited.items()]
    found += [_sent(row) for name, row in by_id.items() if name not in carried]
    found += [_refused(row) for row in refusals if row["handed_by"]]
    return sorted(found, key=lambda one: str(one["created_at"]))


def _notices(connection: Connection, request_id: str) -> Iterable[Row]:
    return connection.execute(select(notices).where(notices.c.request_id == request_id)).mappings()


def _asked(notice: Row) -> dict[str, Any]:
    asked: dict[str, Any] = json.loads(notice["outgoing"] or "{}")
    return asked


def _sent(row: Row) -> Hop:
    return _hop(row, row["origin_butler"], row["handed_by"]) | {
        "status": str(answer_to(Status(row["status"]))),
        "delivery_id": row["id"],
        "error_class": row["terminal_error_class"],
        "error_message": row["terminal_error_message"],
    }


def _waited(row: Row, delivery: Row | None) -> Hop:
    if delivery is not None:
        return _sent(delivery) | {"created_at": to_text(row["created_at"])}
    asked, muted = _asked(row), row["state"] == NoticeState.MUTED
    told = {"channel": asked["channel"], "intent": asked.get("intent", str(Intent.SEND))}
    status = AnswerStatus.MUTED if muted else AnswerStatus.DEFERRED
    return _hop(row, row["agent"], asked["handed_by"]) | told | {"status": str(status)}


def _refused(row: Row) -> Hop:
    return _hop(row, row["origin_butler"], row["handed_by"]) | {
        "status": str(AnswerStatus.ERROR),
        "error_class": row["error_class"],
        "error_message": row["error_message"],
    }


def _hop(row: Row, source: str, part: str) -> Hop:
    return {
        "request_id": row["request_id"],
        "source_butler": source,
        "part": part,
        "channel": row.get("channel") or None,
        "intent": row.get("intent") or None,
        "delivery_id": None,
        "error_class": None,
        "error_message": None,
        "created_at": to_text(row["created_at"]),
    }
