"""How a row of deliveries becomes a value, and a value a row; and the SQL that their columns spell."""

from __future__ import annotations

import json
from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final, TypeVar

from sqlalchemy import insert

from postroom.delivery.model import (
    REACHES_BACK_US,
    Claim,
    Inserted,
    Lease,
    NewDelivery,
    Refusal,
    RefusedCall,
    Settlement,
    Snapshot,
    WaitKind,
    WaitReason,
)
from postroom.delivery.rules.policy import current_trace_id
from postroom.delivery.store.tables import DELIVERY_COLUMNS, delivery_refusals, delivery_requests
from postroom.kernel.database.claims import Claims
from postroom.kernel.database.engine import Database
from postroom.kernel.database.rows import values
from postroom.kernel.values.errors import ErrorClass
from postroom.kernel.values.fields import text_problem
from postroom.message.delivery import DeliveryFailure, Receipt, Status

_Value = TypeVar("_Value")
_COPIED: Final = [(column.name, column.new) for column in DELIVERY_COLUMNS if column.new]
_LEASED: Final = [(column.name, column.leased) for column in DELIVERY_COLUMNS if column.leased]
_KEPT: Final = [(column.name, column.kept) for column in DELIVERY_COLUMNS if column.kept]
_SETTLED: Final = [(column.name, column.settled) for column in DELIVERY_COLUMNS if column.settled]
_copied: Final = attrgetter(*(field for _, field in _COPIED))
_kept: Final = attrgetter(*(field for _, field in _KEPT))
INSERT_COLUMNS: Final = (*(name for name, _ in _COPIED), *(name for name, _ in _LEASED))
INITIALLY: Final = {column.name: column.initially for column in DELIVERY_COLUMNS if column.initially}
CLAIMED: Final = ", ".join(column.name for column in DELIVERY_COLUMNS if column.claim)
SNAPSHOT_COLUMNS: Final = tuple(column.name for column in DELIVERY_COLUMNS if column.snapshot)
SETTLE_COLUMNS: Final = (*(name for name, _ in _KEPT), *(name for name, _ in _SETTLED))
SNAPSHOT: Final = ", ".join(SNAPSHOT_COLUMNS)

CLAIMS: Final = Claims(
    delivery_requests,
    delivery_requests.c.status == str(Status.IN_PROGRESS),
    fence=delivery_requests.c.fence,
    lease=delivery_requests.c.lease_until,
)

# Of a lost worker's row: it was written last when it was marked, or when the part before arrived.
MARKED_SINCE: Final = "doubtful_since = COALESCE(doubtful_since, CASE WHEN sending THEN updated_at END)"


def redating(table: str, now: str, ahead: str, chosen: str) -> tuple[str, ...]:
    """
    The statements that date anew what a clock wrote that has been set back since; `chosen` says how ids are picked out.

    Nobody knows when the call of such a row was made.
    """
    doubt = f"doubtful_since = CASE WHEN sending OR doubtful_since IS NOT NULL THEN {now} - {REACHES_BACK_US} END"
    return tuple(
        f"UPDATE {table} SET {moment} = {moment} - (updated_at - {now}), updated_at = {now}, {doubt} WHERE id "
        + chosen.format(
            f"SELECT id FROM {table} WHERE status = '{status}' AND {moment} > {ahead} AND updated_at > {ahead}"
        )
        for status, moment in (("pending", "not_before"), ("in_progress", "lease_until"))
    )


def origins(table: str, channel: str) -> str:
    """A recursive query that walks the index over what is pending, from one sender to the next; the last is NULL."""
    waits = f"SELECT min(origin_butler) FROM {table} WHERE status = 'pending' AND channel = {channel}"
    return f"""origin (name) AS (
        {waits} UNION ALL
        SELECT ({waits} AND origin_butler > origin.name) FROM origin WHERE origin.name IS NOT NULL)"""


def in_turn(table: str, row: str, now: str) -> str:
    """
    That it is this row's turn at its address, where one leaves after the other: of each sender's the earliest may go,
    the most urgent of them, and of equals whoever has had the longest wait since the last one (a round robin by
    `turn`). What is begun is finished first, so nothing comes between the parts of a text; what waits for another
    attempt and is not begun keeps only its own sender waiting.
    """
    rank = "{0}.parts_done = 0 AND {0}.doubtful_since IS NULL, {0}.priority, {0}.turn, {0}.id"
    begun = "(ahead.parts_done > 0 OR ahead.doubtful_since IS NOT NULL)"
    still_open = "status IN ('pending', 'in_progress')"
    first = f"""{{0}}.id = (
        SELECT min(own.id) FROM {table} AS own
        WHERE own.order_key = {{0}}.order_key AND own.origin_butler = {{0}}.origin_butler AND own.{still_open})"""
    return f"""
        {first.format(row)}
        AND NOT EXISTS (
            SELECT 1 FROM {table} AS ahead
            WHERE ahead.order_key = {row}.order_key AND ahead.{still_open}
              AND (ahead.status = 'in_progress'
                OR (ahead.origin_butler <> {row}.origin_butler AND (ahead.not_before <= {now} OR {begun})
                    AND ({rank.format("ahead")}) < ({rank.format(row)}) AND {first.format("ahead")})))"""


def settling(row: str, done: str) -> str:
    """The SET list of a settlement: `row` and `done` are what the statement calls the two."""
    written = [
        f"{column.name} = COALESCE({done}.{column.name}, {row}.{column.name})"
        if column.keeps
        else f"{column.name} = {done}.{column.name}"
        for column in DELIVERY_COLUMNS
        if column.settled or column.kept
    ]
    return ", ".join(written + [f"{column.name} = {column.let_go}" for column in DELIVERY_COLUMNS if column.let_go])


def insert_values(new: NewDelivery, lease: Lease | None) -> tuple[Any, ...]:
    """In the order of INSERT_COLUMNS."""
    held = lease if new.status is Status.PENDING else None
    return (*_copied(new), *[value(new, held) for _, value in _LEASED])


def new_snapshot(new: NewDelivery, status: Status) -> Snapshot:
    return Snapshot(
        id=new.id,
        idempotency_key=new.idempotency_key,
        fingerprint=new.fingerprint,
        request_id=new.request_id,
        origin_butler=new.origin_butler,
        channel=new.channel,
        intent=new.intent,
        status=status,
        not_before_us=new.created_at_us,
    )


def found_again(new: NewDelivery, existing: Snapshot) -> Inserted:
    """The key is taken; by this very row, when only the answer to the first try was lost."""
    if existing.id != new.id:
        return Inserted(created=False, snapshot=existing)
    claim = new.claimed(sending=False) if existing.status is Status.IN_PROGRESS else None
    return Inserted(created=True, snapshot=existing, claim=claim)


def _reader(make: Callable[..., _Value], kind: str) -> Callable[[Any], _Value]:
    """From a row of the columns that have such a field to the value made of them."""
    columns = [(getattr(column, kind), column.read) for column in DELIVERY_COLUMNS if getattr(column, kind)]
    names = [name for name, _ in columns]
    converted = [(name, read) for name, read in columns if read]

    def read(row: Any) -> _Value:
        values = dict(zip(names, row, strict=True))
        for name, convert in converted:
            values[name] = convert(values[name])
        return make(**values)

    return read


def envelope_of(kept: str, message: str) -> dict[str, object]:
    """notify.v1 as it came. Its words stand in it only where what is sent differs from them, being signed."""
    envelope: dict[str, object] = json.loads(kept)
    delivery = envelope.get("delivery")
    if isinstance(delivery, dict) and delivery.get("message") is None:
        delivery["message"] = message
    return envelope


def waiting_of(kind: str | None, detail: str | None, asked_seconds: float | None) -> WaitReason | None:
    return WaitReason(kind=WaitKind(kind), detail=detail or "", asked_seconds=asked_seconds) if kind else None


def failure_of(error_class: str | None, message: str | None) -> DeliveryFailure | None:
    return DeliveryFailure(ErrorClass(error_class), message or "") if error_class else None


def _snapshot(
    *,
    error_class: str | None,
    error_message: str | None,
    waiting_kind: str | None,
    waiting_detail: str | None,
    waiting_asked_seconds: float | None,
    **values: Any,
) -> Snapshot:
    waiting = waiting_of(waiting_kind, waiting_detail, waiting_asked_seconds)
    return Snapshot(**values, waiting=waiting, failure=failure_of(error_class, error_message))


claim_of: Final = _reader(Claim, "claim")
snapshot_of: Final = _reader(_snapshot, "snapshot")


def mark_values(claim: Claim, lease_until_us: int, now_us: int) -> tuple[Any, ...]:
    return claim.id, claim.fence, lease_until_us, now_us, claim.possible_duplicate


def settle_values(done: Settlement) -> tuple[Any, ...]:
    """In the order of SETTLE_COLUMNS, then which row."""
    return (*_kept(done), *[value(done) for _, value in _SETTLED], done.claim.id, done.claim.fence)


def attempt_values(done: Settlement) -> tuple[Any, ...] | None:
    attempt = done.attempt
    if attempt is None:
        return None
    failure = attempt.failure
    return (
        done.claim.id,
        done.claim.calls + 1,
        attempt.started_at_us,
        attempt.completed_at_us,
        attempt.latency_ms,
        str(attempt.outcome),
        str(failure.error_class) if failure else None,
        failure.message if failure else None,
        attempt.response if failure or not done.receipt else done.receipt.provider_id,
        attempt.asked.sentence if attempt.asked else None,
    )


def receipt_values(claim: Claim, receipt: Receipt, at_us: int) -> tuple[Any, ...]:
    """In the order of the table."""
    part, kind = claim.parts_done + 1, str(receipt.kind)
    return claim.id, part, receipt.provider_id, kind, at_us, receipt.conversation, receipt.about


def dead_letter_values(done: Settlement) -> tuple[Any, ...] | None:
    if done.quarantine is None:
        return None
    return (
        done.quarantine.id,
        done.claim.id,
        str(done.quarantine.reason),
        str(done.failure.error_class) if done.failure else None,
        done.failure.message if done.failure else None,
        done.attempts,
        done.at_us,
    )


REFUSAL_COLUMNS: Final = tuple(delivery_refusals.c.keys())


def refusal_values(refusal: Refusal) -> tuple[Any, ...]:
    """In the order of REFUSAL_COLUMNS."""
    failure = refusal.failure
    row = values(
        refusal,
        without=("failure",),
        error_class=str(failure.error_class),
        error_message=failure.message,
        retry_after_seconds=failure.retry_after_seconds,
    )
    return tuple(row[name] for name in REFUSAL_COLUMNS)


# -- Calls of the switchboard that led to nothing: one row each, so that a trace knows of them ---


class StoredRefusedCalls:
    """Beside what the messenger's limits refuse and it notes itself; these rows name no limit."""

    def __init__(self, database: Database, mint: Callable[[int], str]) -> None:
        self._database = database
        self._mint = mint

    async def note(self, call: RefusedCall) -> None:
        row = {
            "id": self._mint(call.at_us),
            "idempotency_key": "",
            "request_id": _word(call.request_id, 128),
            "origin_butler": call.source,
            "channel": _word(call.channel, 32),
            "intent": _word(call.intent, 32),
            "target_identity": "",
            "error_class": str(call.failure.error_class),
            "error_message": _sentence(call.failure.message),
            "trace_id": current_trace_id(),
            "created_at": call.at_us,
            "handed_by": "switchboard",
        }
        await self._database.write(lambda connection: connection.execute(insert(delivery_refusals), row))


def _word(value: object, most: int) -> str:
    """A short text from an envelope that may be anything at all."""
    return value[:most] if isinstance(value, str) and not text_problem(value) else ""


def _sentence(value: str) -> str:
    """What was answered, even where it repeats something that no database can hold."""
    return value.encode("utf-8", "backslashreplace").decode().replace("\x00", "\\x00")
