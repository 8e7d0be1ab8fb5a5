"""What became of a delivery, for the butler that sent it and for no other."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from postroom.domain.delivery import AttemptResult, DeliveryFailure, Intent, Status
from postroom.domain.errors import ErrorClass, PostroomError, ValidationError
from postroom.domain.ids import DeliveryId
from postroom.domain.ledger import Snapshot
from postroom.domain.notify_response import notify_error, notify_response
from postroom.domain.snapshot_outcome import outcome_of
from postroom.work.attention.notice_outcome import NoticeOutcomes, is_notice_id
from postroom.work.delivery.enquiries import read_uuid

Row = Mapping[str, Any]


class SenderRecord(Protocol):
    """The ledger as its readers see it."""

    async def delivery(self, delivery_id: str) -> dict[str, Any] | None: ...

    async def approval(self, delivery_id: str) -> dict[str, Any] | None:
        """How a person decided on it, if one was asked."""
        ...

    async def news(self, delivery_id: str) -> Sequence[dict[str, Any]]:
        """What the provider said of it after it was delivered, oldest first."""
        ...


class Replays(Protocol):
    def find(self, key: str) -> Awaitable[Snapshot | None]:
        """A dead letter that was replayed with success answers with the replay."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SenderStatus:
    record: SenderRecord
    replays: Replays
    notices: NoticeOutcomes | None = None

    async def answer(self, sender: str, delivery_id: object) -> dict[str, Any]:
        """A delivery of somebody else's is as unknown as one that never was. An id may be a notice's as well."""
        try:
            if isinstance(delivery_id, str) and is_notice_id(delivery_id):
                return await self._of_notice(sender, delivery_id)
            known = read_uuid(delivery_id, "delivery_id")
            found = await self._found(known)
            if found is None or found["origin_butler"] != sender:
                raise ValidationError(f"Delivery {known} not found")
            answer = _as_answer(found, await self.record.approval(known))
            answer["delivery"]["news"] = [_news(one) for one in await self.record.news(found["delivery_id"])]
            return answer
        except PostroomError as error:
            return notify_error(error)

    async def _of_notice(self, sender: str, notice_id: str) -> dict[str, Any]:
        outcome = await self.notices.of(sender, notice_id) if self.notices is not None else None
        if outcome is None:
            raise ValidationError(f"Notice {notice_id} not found")
        return notify_response(outcome)

    async def _found(self, delivery_id: str) -> dict[str, Any] | None:
        found = await self.record.delivery(delivery_id)
        if found is None or found["status"] != Status.DEAD_LETTERED:
            return found
        latest = await self.replays.find(found["idempotency_key"])
        return found if latest is None or latest.id == delivery_id else await self.record.delivery(latest.id)


def _as_answer(row: Row, approval: Row | None) -> dict[str, Any]:
    answer = notify_response(outcome_of(_snapshot(row), request_id=row["request_id"]))
    answer["delivery"] |= {
        "attempts": row["attempts"],
        "possible_duplicate": bool(row["possible_duplicate"]),
        "last_error": _last_error(row),
        "next_attempt_at": row["next_attempt_at"],
        "approval": _decision(approval) if approval else None,
    }
    return answer


def _last_error(row: Row) -> dict[str, Any] | None:
    """Of the last call that was made; of the delivery itself when none was."""
    if last := row["latest_attempt"]:
        failed = last["outcome"] != AttemptResult.SUCCESS
        return {"class": last["error_class"], "message": last["error_message"]} if failed else None
    failure = _failure(row)
    return {"class": str(failure.error_class), "message": failure.message} if failure else None


def _news(row: Row) -> dict[str, Any]:
    return {name: row[name] for name in ("kind", "words", "at")}


def _decision(approval: Row) -> dict[str, Any]:
    """Not who decided: that is for people."""
    return {name: approval[name] for name in ("status", "reason", "decided_at", "expires_at")}


def _snapshot(row: Row) -> Snapshot:
    return Snapshot(
        id=DeliveryId(row["delivery_id"]),
        idempotency_key=row["idempotency_key"],
        fingerprint="",
        request_id=row["request_id"],
        origin_butler=row["origin_butler"],
        channel=row["channel"],
        intent=Intent(row["intent"]),
        status=Status(row["status"]),
        attempts=row["attempts"],
        possible_duplicate=bool(row["possible_duplicate"]),
        not_before_us=0,
        waiting_reason=row["waiting_reason"],
        provider_delivery_id=row["provider_delivery_id"],
        failure=_failure(row),
    )


def _failure(row: Row) -> DeliveryFailure | None:
    error_class = row["terminal_error_class"]
    return DeliveryFailure(ErrorClass(error_class), row["terminal_error_message"] or "") if error_class else None
