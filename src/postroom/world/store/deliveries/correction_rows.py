"""Corrections as rows: written once, and read together with the deliveries that carry them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Select, and_, exists, or_, select

from postroom.domain.approval import ActionStatus
from postroom.domain.correction import CorrectionAct, How, KeptCorrection
from postroom.domain.delivery import Status
from postroom.domain.time import to_text
from postroom.world.store.engine.rows import read, values
from postroom.world.store.tables.approvals import pending_actions
from postroom.world.store.tables.corrections import delivery_corrections
from postroom.world.store.tables.deliveries import delivery_requests

_rows: Final = delivery_corrections.c
_carrier: Final = delivery_requests.alias("carrier")
_REFUSED: Final = (str(ActionStatus.REJECTED), str(ActionStatus.EXPIRED))


def corrections() -> Select[Any]:
    """Each with the delivery that carries it, found by the key that it was given before it was stored."""
    return (
        select(delivery_corrections, _carrier.c.id.label("carried_by"), _carrier.c.status.label("carried_status"))
        .outerjoin(_carrier, _carrier.c.idempotency_key == _rows.carried_key)
        .order_by(_rows.id)
    )


def corrections_of(connection: Connection, delivery_id: str) -> tuple[KeptCorrection, ...]:
    found = connection.execute(corrections().where(_rows.delivery_id == delivery_id))
    return tuple(kept_correction(row) for row in found)


def correction_under(connection: Connection, key: str | None) -> KeptCorrection | None:
    if key is None:
        return None
    row = connection.execute(corrections().where(_rows.key == key)).first()
    return kept_correction(row) if row else None


def corrected_by(connection: Connection, idempotency_key: str) -> KeptCorrection | None:
    """What the delivery under this key corrects."""
    row = connection.execute(corrections().where(_rows.carried_key == idempotency_key)).first()
    return kept_correction(row) if row else None


def kept_correction(row: Any) -> KeptCorrection:
    return read(KeptCorrection, row, status=Status(row.carried_status) if row.carried_status else None)


def correction_row(kept: KeptCorrection) -> dict[str, Any]:
    return values(kept, without=("carried_by", "status"))


def shown_correction(kept: KeptCorrection) -> dict[str, Any]:
    """As people and programs see it: who, when, which version; no words of the message."""
    return {
        "act": str(kept.act),
        "how": str(kept.how),
        "version": kept.version,
        "actor": kept.actor,
        "reason": kept.reason,
        "at": to_text(kept.at_us),
        "delivery_id": kept.carried_by,
        "status": str(kept.status) if kept.status else None,
    }


def shown_corrections(connection: Connection, delivery_id: str) -> list[dict[str, Any]]:
    return [shown_correction(one) for one in corrections_of(connection, delivery_id) if one.happened]


def corrections_around(connection: Connection, delivery_id: str) -> dict[str, Any]:
    """`corrections` of the delivery, and what it `corrects` itself, naming the delivery that is meant."""
    key = select(delivery_requests.c.idempotency_key).where(delivery_requests.c.id == delivery_id)
    own = connection.execute(key).scalar()
    about = corrected_by(connection, own) if own is not None else None
    return {
        "corrections": shown_corrections(connection, delivery_id),
        "corrects": shown_correction(about) | {"delivery_id": about.delivery_id} if about else None,
    }


def marks(connection: Connection, delivery_ids: Collection[str]) -> Mapping[str, str]:
    """Of those that were corrected: `revised`, `recalled` or `withdrawn`."""
    found = connection.execute(corrections().where(_rows.delivery_id.in_(list(delivery_ids)))) if delivery_ids else ()
    marked: dict[str, str] = {}
    for kept in map(kept_correction, found):
        if kept.stands and marked.get(kept.delivery_id) not in ("recalled", "withdrawn"):
            marked[kept.delivery_id] = _mark(kept)
    return marked


def _mark(kept: KeptCorrection) -> str:
    if kept.act is CorrectionAct.REVISE:
        return "revised"
    return "withdrawn" if kept.how is How.IN_PLACE else "recalled"


def was_kept_back() -> ColumnElement[bool]:
    """Of a row of deliveries: it was taken back, or a person did not let it go, which is nobody's error."""
    requests = delivery_requests.c
    taken_back = exists().where(
        _rows.delivery_id == requests.id,
        _rows.act == str(CorrectionAct.RECALL),
        _rows.how == str(How.IN_PLACE),
    )
    refused = exists().where(pending_actions.c.id == requests.id, pending_actions.c.status.in_(_REFUSED))
    return and_(requests.status == str(Status.FAILED), or_(taken_back, refused))
