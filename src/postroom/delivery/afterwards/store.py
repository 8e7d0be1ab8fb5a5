"""Corrections on disk, and what they have made of what was sent."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Select, and_, bindparam, exists, func, or_, select, update

from postroom.delivery.afterwards.rules import CorrectionAct, CorrectionStanding, How, KeptCorrection
from postroom.delivery.model import NewDelivery, SentMessage, Snapshot
from postroom.delivery.seams import ParkedRecord, ParkingTerms
from postroom.delivery.store.rows import SNAPSHOT_COLUMNS, claim_of, snapshot_of
from postroom.delivery.store.tables import (
    DELIVERY_COLUMNS,
    delivery_corrections,
    delivery_receipts,
    delivery_requests,
    stored_format,
)
from postroom.kernel.audit import AuditKind, NewAudit
from postroom.kernel.database.audit import add_entry
from postroom.kernel.database.engine import PENDING_CHANNEL, SETTLED_CHANNEL, Database, insert_for
from postroom.kernel.database.prepared import Prepared
from postroom.kernel.database.rows import read, values
from postroom.kernel.values.errors import ErrorClass
from postroom.kernel.values.ids import DeliveryId
from postroom.message.attachment import attachments_of_text
from postroom.message.delivery import DeliveryEvent, ReceiptKind, Status, after

_rows: Final = delivery_corrections.c
_requests: Final = delivery_requests.c
_receipts: Final = delivery_receipts.c
_carrier: Final = delivery_requests.alias("carrier")
_ACTS: Final = {
    CorrectionAct.REVISE: "changed the text of a message",
    CorrectionAct.RECALL: "took a message back",
}
_CLAIMED: Final = [_requests[column.name] for column in DELIVERY_COLUMNS if column.claim]
_BESIDE: Final = (
    _requests.status,
    _requests.idempotency_key,
    _requests.fingerprint,
    _requests.target_identity,
    _requests.request_envelope,
    _requests.terminal_error_message,
)

# -- Corrections as rows, read together with the deliveries that carry them ---


def _corrections() -> Select[Any]:
    """Each with the delivery that carries it, found by the key that it was given before it was stored."""
    return (
        select(delivery_corrections, _carrier.c.id.label("carried_by"), _carrier.c.status.label("carried_status"))
        .outerjoin(_carrier, _carrier.c.idempotency_key == _rows.carried_key)
        .order_by(_rows.id)
    )


def _corrections_of(connection: Connection, delivery_id: str) -> tuple[KeptCorrection, ...]:
    found = connection.execute(_corrections().where(_rows.delivery_id == delivery_id))
    return tuple(_kept_correction(row) for row in found)


def _correction_where(connection: Connection, condition: ColumnElement[bool]) -> KeptCorrection | None:
    row = connection.execute(_corrections().where(condition)).first()
    return _kept_correction(row) if row else None


def _kept_correction(row: Any) -> KeptCorrection:
    return read(KeptCorrection, row, status=Status(row.carried_status) if row.carried_status else None)


def corrections_around(
    connection: Connection, delivery_id: str, idempotency_key: str
) -> tuple[tuple[KeptCorrection, ...], KeptCorrection | None]:
    """Those of the delivery that happened, and the one that it carries itself."""
    happened = tuple(one for one in _corrections_of(connection, delivery_id) if one.happened)
    return happened, _correction_where(connection, _rows.carried_key == idempotency_key)


def marks(connection: Connection, delivery_ids: Collection[str]) -> Mapping[str, str]:
    """Of those that were corrected: `revised`, `recalled` or `withdrawn`."""
    found = connection.execute(_corrections().where(_rows.delivery_id.in_(list(delivery_ids)))) if delivery_ids else ()
    marked: dict[str, str] = {}
    for kept in map(_kept_correction, found):
        if kept.stands and marked.get(kept.delivery_id) not in ("recalled", "withdrawn"):
            marked[kept.delivery_id] = _mark(kept)
    return marked


def _mark(kept: KeptCorrection) -> str:
    if kept.act is CorrectionAct.REVISE:
        return "revised"
    return "withdrawn" if kept.how is How.IN_PLACE else "recalled"


def was_kept_back(refused: ColumnElement[bool]) -> ColumnElement[bool]:
    """Of a row of deliveries: it was taken back, or a person did not let it go (`refused`), which is nobody's error."""
    taken_back = exists().where(
        _rows.delivery_id == _requests.id,
        _rows.act == str(CorrectionAct.RECALL),
        _rows.how == str(How.IN_PLACE),
    )
    return and_(_requests.status == str(Status.FAILED), or_(taken_back, refused))


# -- What has arrived, and what corrections have made of it ---


# Every card asks this when it has arrived, and again for each edit of it.
_LINEAGE: Final = or_(_requests.id == bindparam("its_id"), _requests.replay_of == bindparam("its_id"))
_ARRIVED: Final = Prepared(
    select(delivery_requests).where(_LINEAGE, _requests.status == str(Status.DELIVERED)).limit(1)
)
_PARTS: Final = Prepared(
    select(_receipts.part, _receipts.provider_delivery_id, _receipts.conversation)
    .join(delivery_requests, _requests.id == _receipts.delivery_request_id)
    .where(_LINEAGE)
    .order_by(_receipts.part)
)
_REVISIONS: Final = Prepared(
    select(_receipts.provider_delivery_id, _receipts.receipt_type, _receipts.about)
    .join(delivery_requests, _requests.id == _receipts.delivery_request_id)
    .where(
        _requests.revises == bindparam("its_id"),
        func.coalesce(_requests.replay_of, _requests.id) != bindparam("besides"),
    )
    .order_by(_requests.id, _receipts.part)
)


class StoredSent:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def sent(self, delivery_id: DeliveryId, besides: DeliveryId | None = None) -> SentMessage | None:
        """
        With what revisions have made of it, leaving out the one `besides` which it is asked.

        None while it has not arrived, or when nothing of that name was ever sent.
        """
        return await self._database.read(lambda connection: sent(connection, delivery_id, besides))


def sent(connection: Connection, delivery_id: DeliveryId, besides: DeliveryId | None = None) -> SentMessage | None:
    """A dead letter that was sent again counts as arrived; its parts may be spread over both rows."""
    row = _ARRIVED.run(connection, {"its_id": delivery_id}).first()
    if row is None:
        return None
    received = {row.part: row for row in _PARTS.run(connection, {"its_id": delivery_id})}.values()
    more, gone = _revised(connection, delivery_id, besides)
    return SentMessage(
        id=delivery_id,
        origin_butler=row.origin_butler,
        channel=row.channel,
        address=row.address,
        provider_ids=tuple(row.provider_delivery_id for row in received),
        conversation=next((row.conversation for row in received if row.conversation is not None), None),
        files=len(attachments_of_text(row.attachments)),
        more=tuple(one for one in more if one not in gone),
        gone=tuple(gone),
    )


def _revised(
    connection: Connection, delivery_id: DeliveryId, besides: DeliveryId | None
) -> tuple[list[str], list[str]]:
    """What its revisions have added, and taken away; `besides` may have been sent again as a dead letter."""
    rows = _REVISIONS.run(connection, {"its_id": delivery_id, "besides": besides or ""})
    more = [row.provider_delivery_id for row in rows if row.receipt_type == ReceiptKind.SENT]
    return more, [row.about for row in rows if row.receipt_type == ReceiptKind.DELETE]


# -- Each change of a message that has not been sent is one transaction under its row ---


class StoredCorrections:
    """Each change names the standing it expects; what has moved on since then changes nothing and answers so."""

    def __init__(self, database: Database, mint: Callable[[int], str], parked: ParkedRecord) -> None:
        self._database = database
        self._mint = mint
        self._parked = parked

    async def standing(self, delivery_id: DeliveryId, key: str | None = None) -> CorrectionStanding | None:
        return await self._database.read(lambda connection: _standing(connection, delivery_id, key))

    async def reword(
        self, seen: CorrectionStanding, new: NewDelivery, kept: KeptCorrection, terms: ParkingTerms | None
    ) -> Snapshot | None:
        """With `terms` a person is asked anew. None when it is no longer as it was seen: look again."""

        def work(connection: Connection) -> Snapshot | None:
            self._parked.hold(connection, new.id)
            if not _held(connection, seen) or not _insert(connection, kept):
                return None
            if seen.status is Status.PENDING:
                _move(connection, new.id, Status.PENDING, DeliveryEvent.REVISE, updated_at=kept.at_us)
            worded = {
                "message_content": new.message,
                "subject": new.subject,
                "format": stored_format(new.format),
                "request_envelope": new.envelope,
                "updated_at": kept.at_us,
            }
            connection.execute(update(delivery_requests).where(_requests.id == new.id).values(worded))
            if terms is None or terms.park_again(connection, self._mint, new, actor=kept.actor, at_us=kept.at_us):
                _move(connection, new.id, Status.AWAITING_APPROVAL, DeliveryEvent.APPROVE, updated_at=kept.at_us)
                tell_others(connection, PENDING_CHANNEL)
            return _snapshot(connection, new.id)

        return await self._database.write(work)

    async def withdraw(self, seen: CorrectionStanding, kept: KeptCorrection, failure: str) -> Snapshot | None:
        """None when it is no longer as it was seen: look again."""

        def work(connection: Connection) -> Snapshot | None:
            self._parked.hold(connection, kept.delivery_id)
            if not _held(connection, seen) or not _insert(connection, kept):
                return None
            _move(
                connection,
                kept.delivery_id,
                seen.status,
                DeliveryEvent.WITHDRAW,
                terminal_error_class=str(ErrorClass.VALIDATION),
                terminal_error_message=failure,
                terminal_at=kept.at_us,
                updated_at=kept.at_us,
                waiting_reason=None,
                waiting_detail=None,
                waiting_asked_seconds=None,
            )
            self._parked.close(connection, self._mint, kept.delivery_id, actor=kept.actor, at_us=kept.at_us)
            tell_others(connection, SETTLED_CHANNEL, kept.delivery_id)
            return _snapshot(connection, kept.delivery_id)

        return await self._database.write(work)

    async def keep(self, seen: CorrectionStanding, kept: KeptCorrection) -> bool:
        """Before the delivery that will carry it; False when more has happened since it was seen: look again."""

        def work(connection: Connection) -> bool:
            return _held(connection, seen) and _insert(connection, kept)

        return await self._database.write(work)


def _standing(connection: Connection, delivery_id: DeliveryId, key: str | None) -> CorrectionStanding | None:
    row = connection.execute(_row(delivery_id)).first()
    if row is None:
        return None
    status, idempotency_key, fingerprint, target_identity, envelope, failure = row[len(_CLAIMED) :]
    return CorrectionStanding(
        claim=claim_of(row[: len(_CLAIMED)]),
        status=Status(status),
        idempotency_key=idempotency_key,
        fingerprint=fingerprint,
        target_identity=target_identity,
        envelope=envelope,
        failure=failure,
        sent=sent(connection, delivery_id),
        corrections=_corrections_of(connection, delivery_id),
        keyed=_correction_where(connection, _rows.key == key) if key is not None else None,
    )


def _row(delivery_id: DeliveryId) -> Select[Any]:
    return select(*_CLAIMED, *_BESIDE).where(_requests.id == delivery_id)


def _held(connection: Connection, seen: CorrectionStanding) -> bool:
    """Under the row's lock, so that it is sent, decided on and corrected by one at a time."""
    connection.execute(_row(seen.claim.id).with_for_update()).first()
    now = _standing(connection, seen.claim.id, None)
    return now is not None and seen.same(now)


def _insert(connection: Connection, kept: KeptCorrection) -> bool:
    """False when another call has used the key; a row of its own that nothing came of is taken up again."""
    other = _correction_where(connection, _rows.key == kept.key) if kept.key is not None else None
    if other is not None and other.id != kept.id:
        return False
    row = values(kept, without=("carried_by", "status"))
    statement = insert_for(connection, delivery_corrections).values(row)
    connection.execute(statement.on_conflict_do_update(index_elements=["id"], set_=row))
    subject, act = f"delivery:{kept.delivery_id}", _ACTS[kept.act]
    new = NewAudit(actor=kept.actor, kind=AuditKind.MESSAGES, act=act, subject=subject, detail=str(kept.how), door="")
    add_entry(connection, kept.id, new, kept.at_us)
    return True


def _move(
    connection: Connection, delivery_id: DeliveryId, before: Status, event: DeliveryEvent, **values: object
) -> None:
    change = update(delivery_requests).where(_requests.id == delivery_id, _requests.status == str(before))
    if connection.execute(change.values(status=str(after(before, event)), **values)).rowcount != 1:
        raise RuntimeError("a delivery that is held has moved")


def _snapshot(connection: Connection, delivery_id: DeliveryId) -> Snapshot:
    columns = [_requests[name] for name in SNAPSHOT_COLUMNS]
    return snapshot_of(connection.execute(select(*columns).where(_requests.id == delivery_id)).one())


def tell_others(connection: Connection, channel: str, payload: str = "") -> None:
    """Other processes: one may be free to send it, in another a caller may be waiting for it."""
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_notify(channel, payload)))
