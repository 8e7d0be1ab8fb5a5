"""Corrections on disk: each change of a message that has not been sent is one transaction under its row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from sqlalchemy import Connection, Select, func, select, update

from postroom.approvals.store.steps import close_action, hold_action, park_again
from postroom.delivery.afterwards.corrections import delivery_corrections
from postroom.delivery.afterwards.rules import CorrectionAct, CorrectionStanding, KeptCorrection
from postroom.delivery.model import NewDelivery, Snapshot
from postroom.delivery.reading.search import sent
from postroom.delivery.seams import ParkingTerms
from postroom.delivery.store.rows import (
    SNAPSHOT_COLUMNS,
    claim_of,
    correction_row,
    correction_under,
    corrections_of,
    snapshot_of,
)
from postroom.delivery.store.tables import DELIVERY_COLUMNS, delivery_requests, stored_format
from postroom.kernel.audit import AuditKind, NewAudit
from postroom.kernel.database.audit import add_entry
from postroom.kernel.database.engine import Database, insert_for
from postroom.kernel.values.errors import ErrorClass
from postroom.kernel.values.ids import DeliveryId
from postroom.message.delivery import DeliveryEvent, Status, after

_requests: Final = delivery_requests.c
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


class StoredCorrections:
    def __init__(self, database: Database, mint: Callable[[int], str]) -> None:
        self._database = database
        self._mint = mint

    async def standing(self, delivery_id: DeliveryId, key: str | None = None) -> CorrectionStanding | None:
        return await self._database.read(lambda connection: _standing(connection, delivery_id, key))

    async def reword(
        self, seen: CorrectionStanding, new: NewDelivery, kept: KeptCorrection, terms: ParkingTerms | None
    ) -> Snapshot | None:
        """With `terms` a person is asked anew. None when it is no longer as it was seen: look again."""

        def work(connection: Connection) -> Snapshot | None:
            action = hold_action(connection, new.id)
            if not _held(connection, seen) or not _insert(connection, kept):
                return None
            if seen.status is Status.PENDING:
                _move(connection, new.id, Status.PENDING, DeliveryEvent.REVISE, {"updated_at": kept.at_us})
            connection.execute(update(delivery_requests).where(_requests.id == new.id).values(_worded(new, kept.at_us)))
            if terms is None or park_again(
                connection, self._mint, new, terms, was=action, actor=kept.actor, at_us=kept.at_us
            ):
                _move(connection, new.id, Status.AWAITING_APPROVAL, DeliveryEvent.APPROVE, {"updated_at": kept.at_us})
                _tell(connection, "PENDING_CHANNEL", "")
            return _snapshot(connection, new.id)

        return await self._database.write(work)

    async def withdraw(self, seen: CorrectionStanding, kept: KeptCorrection, failure: str) -> Snapshot | None:
        """None when it is no longer as it was seen: look again."""

        def work(connection: Connection) -> Snapshot | None:
            hold_action(connection, kept.delivery_id)
            if not _held(connection, seen) or not _insert(connection, kept):
                return None
            over = {
                "terminal_error_class": str(ErrorClass.VALIDATION),
                "terminal_error_message": failure,
                "terminal_at": kept.at_us,
                "updated_at": kept.at_us,
                "waiting_reason": None,
            }
            _move(connection, kept.delivery_id, seen.status, DeliveryEvent.WITHDRAW, over)
            close_action(connection, self._mint, kept.delivery_id, actor=kept.actor, at_us=kept.at_us)
            _tell(connection, "SETTLED_CHANNEL", kept.delivery_id)
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
        corrections=corrections_of(connection, delivery_id),
        keyed=correction_under(connection, key),
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
    rows = delivery_corrections.c
    other = select(rows.id).where(rows.key == kept.key, rows.id != kept.id) if kept.key is not None else None
    if other is not None and connection.execute(other).first() is not None:
        return False
    values = correction_row(kept)
    statement = insert_for(connection, delivery_corrections).values(values)
    connection.execute(statement.on_conflict_do_update(index_elements=["id"], set_=values))
    subject, act = f"delivery:{kept.delivery_id}", _ACTS[kept.act]
    new = NewAudit(actor=kept.actor, kind=AuditKind.MESSAGES, act=act, subject=subject, detail=str(kept.how), door="")
    add_entry(connection, kept.id, new, kept.at_us)
    return True


def _worded(new: NewDelivery, at_us: int) -> dict[str, Any]:
    return {
        "message_content": new.message,
        "subject": new.subject,
        "format": stored_format(new.format),
        "request_envelope": new.envelope,
        "updated_at": at_us,
    }


def _move(
    connection: Connection, delivery_id: DeliveryId, before: Status, event: DeliveryEvent, values: dict[str, Any]
) -> None:
    change = update(delivery_requests).where(_requests.id == delivery_id, _requests.status == str(before))
    if connection.execute(change.values(status=str(after(before, event)), **values)).rowcount != 1:
        raise RuntimeError("a delivery that is held has moved")


def _snapshot(connection: Connection, delivery_id: DeliveryId) -> Snapshot:
    columns = [_requests[name] for name in SNAPSHOT_COLUMNS]
    return snapshot_of(connection.execute(select(*columns).where(_requests.id == delivery_id)).one())


def _tell(connection: Connection, channel: str, payload: str) -> None:
    """Other processes: one may be free to send it, in another a caller may be waiting for it."""
    if connection.dialect.name == "postgresql":
        from postroom.delivery.store import postgres as ledger_postgres  # its driver is an extra

        connection.execute(select(func.pg_notify(getattr(ledger_postgres, channel), payload)))
