"""What became of a delivery, for the messenger's tools, and for the butler that sent it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import ColumnElement, Connection, Select, bindparam, select

from postroom.attention.attention import Attention
from postroom.attention.model import is_notice_id
from postroom.delivery.accept import Acceptance, Forecast, may_be_held
from postroom.delivery.model import outcome_of
from postroom.delivery.reading.file import (
    DeliveryQuery,
    in_pages,
    read_choice,
    read_page,
    read_request_id,
    read_span,
    read_uuid,
    read_word,
)
from postroom.delivery.reading.record import (
    SUMMARY,
    CallMade,
    DeliveryNow,
    DeliverySummary,
    KeptNews,
    calls_made,
    delivery_document,
    delivery_now,
    document,
    kept_news,
    summary_of,
)
from postroom.delivery.rules import limits
from postroom.delivery.rules.limits import AdmissionDecision
from postroom.delivery.rules.policy import DeliveryDraft
from postroom.delivery.store.ledger import DeliveryLedger
from postroom.delivery.store.tables import IS_RARE, RARE, delivery_requests
from postroom.kernel.database.engine import Database
from postroom.kernel.running.clock import Clock
from postroom.kernel.values.errors import (
    FieldError,
    InternalError,
    PostroomError,
    TargetUnavailable,
    ValidationError,
    error_object,
    field_list,
)
from postroom.kernel.values.fields import Document
from postroom.kernel.values.ids import to_text
from postroom.message.channel import KnownChannels
from postroom.message.delivery import AttemptResult, Intent, Status
from postroom.message.outgoing import Outcome
from postroom.message.wire import notify_error, notify_response, parse_notify
from postroom.message.wishes import because
from postroom.overview.story import RequestTrace, approval_of, trace
from postroom.overview.why import ApprovalStanding

if TYPE_CHECKING:  # who asks for a delivery needs no store of notices
    from postroom.attention.attention import NoticeOutcomes


_KIND: Final = "delivery"
_requests = delivery_requests.c


class StoredDeliveries:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def now(self, delivery_id: str) -> DeliveryNow | None:
        return await self._database.read(partial(delivery_now, delivery_id=delivery_id))

    async def attempts(self, delivery_id: str) -> Sequence[CallMade] | None:
        """In order; None when there is no such delivery."""
        return await self._database.read(partial(calls_made, delivery_id=delivery_id))

    async def approval(self, delivery_id: str) -> ApprovalStanding | None:
        return await self._database.read(partial(approval_of, delivery_id=delivery_id))

    async def news(self, delivery_id: str) -> Sequence[KeptNews]:
        return await self._database.read(partial(kept_news, delivery_id=delivery_id))

    async def search(self, query: DeliveryQuery) -> list[DeliverySummary]:
        """Newest first, one more than the page holds when there are more."""
        return await self._database.read(partial(search, query=query))

    async def trace(self, request_id: str) -> RequestTrace:
        return await self._database.read(partial(trace, request_id=request_id))


def search(connection: Connection, query: DeliveryQuery) -> list[DeliverySummary]:
    return [summary_of(row) for row in connection.execute(_matching(query)).mappings()]


def _matching(query: DeliveryQuery) -> Select[Any]:
    """An id is a time, so newest first is simply downward by id."""
    found = select(*SUMMARY).order_by(_requests.id.desc()).limit(query.page.limit + 1)
    for column, value in (
        (_requests.origin_butler, query.origin_butler),
        (_requests.channel, query.channel),
        (_requests.intent, query.intent),
    ):
        if value is not None:
            found = found.where(column == str(value))
    if query.status is not None:
        found = found.where(*_in_status(query.status))
    if query.since_us is not None:
        found = found.where(_requests.created_at >= query.since_us)
    if query.until_us is not None:
        found = found.where(_requests.created_at <= query.until_us)
    if query.page.before is not None:
        found = found.where(_requests.id < query.page.before)
    return found


def _in_status(status: Status) -> list[ColumnElement[bool]]:
    """Written out, and for a rare one with the condition of its index: only then can the index be used."""
    written = _requests.status == bindparam("status", str(status), literal_execute=True)
    return [written, IS_RARE] if status in RARE else [written]  # type: ignore[list-item]  # text is a condition, too


# -- For the messenger's tools, with values from outside --


@dataclass(frozen=True, slots=True, kw_only=True)
class Tracking:
    """Raises ValidationError with a sentence for the caller."""

    record: StoredDeliveries
    channel_names: frozenset[str]

    async def status(self, delivery_id: object) -> Document:
        known = read_uuid(delivery_id, "delivery_id")
        found = await self.record.now(known)
        if found is None:
            raise ValidationError(f"Delivery {known} not found")
        shown = delivery_document(found.delivery)
        del shown["not_before"]
        return shown | {
            "next_attempt_at": _text(found.delivery.next_attempt_at_us),
            "dead_letter_id": found.letter_id,
            "latest_attempt": document(found.latest) if found.latest else None,
        }

    async def attempts(self, delivery_id: object) -> Document:
        known = read_uuid(delivery_id, "delivery_id")
        attempts = await self.record.attempts(known)
        if attempts is None:
            raise ValidationError(f"Delivery {known} not found")
        return {
            "delivery_id": known,
            "attempts": [document(one) for one in attempts],
            "total_attempts": len(attempts),
        }

    async def search(
        self,
        *,
        origin_butler: object = None,
        channel: object = None,
        intent: object = None,
        status: object = None,
        since: object = None,
        until: object = None,
        limit: object = None,
        cursor: object = None,
    ) -> Document:
        asked_intent = read_choice(intent, "intent", Intent)
        asked_status = read_choice(status, "status", Status)
        since_us, until_us = read_span(since, until)
        query = DeliveryQuery(
            page=read_page(_KIND, limit, cursor),
            origin_butler=read_word(origin_butler, "origin_butler"),
            channel=read_choice(channel, "channel", sorted(self.channel_names)),
            intent=Intent(asked_intent) if asked_intent else None,
            status=Status(asked_status) if asked_status else None,
            since_us=since_us,
            until_us=until_us,
        )
        found = [delivery_document(one) for one in await self.record.search(query)]
        deliveries, next_cursor = in_pages(_KIND, found, query.page, "delivery_id")
        return {
            "deliveries": deliveries,
            "count": len(deliveries),
            "limit": query.page.limit,
            "next_cursor": next_cursor,
        }

    async def trace(self, request_id: object) -> Document:
        found = await self.record.trace(read_request_id(request_id))
        if found.is_empty:
            raise ValidationError("Request not found: nothing is known under this request_id")
        return found.document()


# -- For the butler that sent it, and for no other --


@dataclass(frozen=True, slots=True, kw_only=True)
class SenderStatus:
    record: StoredDeliveries
    replays: DeliveryLedger
    notices: NoticeOutcomes | None = None

    async def answer(self, sender: str, delivery_id: object) -> Document:
        """A delivery of somebody else's is as unknown as one that never was. An id may be a notice's as well."""
        try:
            if isinstance(delivery_id, str) and is_notice_id(delivery_id):
                return await self._of_notice(sender, delivery_id)
            known = read_uuid(delivery_id, "delivery_id")
            found = await self._found(known)
            if found is None or found.delivery.origin_butler != sender:
                raise ValidationError(f"Delivery {known} not found")
            answer = _as_answer(found, await self.record.approval(known))
            news = await self.record.news(found.delivery.delivery_id)
            answer["delivery"]["news"] = [
                {"kind": str(one.kind), "words": one.words, "at": to_text(one.at_us)} for one in news
            ]
            return answer
        except PostroomError as error:
            return notify_error(error)

    async def _of_notice(self, sender: str, notice_id: str) -> Document:
        outcome = await self.notices.of(sender, notice_id) if self.notices is not None else None
        if outcome is None:
            raise ValidationError(f"Notice {notice_id} not found")
        return notify_response(outcome)

    async def _found(self, delivery_id: str) -> DeliveryNow | None:
        found = await self.record.now(delivery_id)
        if found is None or found.delivery.status is not Status.DEAD_LETTERED:
            return found
        latest = await self.replays.find(found.delivery.idempotency_key)
        return found if latest is None or latest.id == delivery_id else await self.record.now(latest.id)


def _as_answer(found: DeliveryNow, approval: ApprovalStanding | None) -> Document:
    one = found.delivery
    answer = notify_response(outcome_of(one.snapshot(), request_id=one.request_id))
    answer["delivery"] |= {
        "attempts": one.attempts,
        "possible_duplicate": one.possible_duplicate,
        "last_error": _last_error(found),
        "next_attempt_at": _text(one.next_attempt_at_us),
        "approval": _decision(approval) if approval else None,
    }
    return answer


def _last_error(found: DeliveryNow) -> Document | None:
    """Of the last call that was made; of the delivery itself when none was."""
    if last := found.latest:
        failed = last.outcome is not AttemptResult.SUCCESS
        return {"class": last.error_class, "message": last.error_message} if failed else None
    failure = found.delivery.failure
    return {"class": str(failure.error_class), "message": failure.message} if failure else None


def _decision(approval: ApprovalStanding) -> Document:
    """Not who decided: that is for people."""
    return {
        "status": str(approval.status),
        "reason": approval.reason,
        "decided_at": _text(approval.decided_at_us),
        "expires_at": to_text(approval.expires_at_us),
    }


def _text(moment_us: int | None) -> str | None:
    return None if moment_us is None else to_text(moment_us)


# What would become of a request, said without doing anything.


def validate(envelope: object, known_channels: KnownChannels) -> Document:
    """The validator every door uses; nothing but the envelope is looked at."""
    try:
        parse_notify(envelope, known_channels)
    except ValidationError as error:
        return {"valid": False, "errors": _listed(error)}
    return {"valid": True, "errors": []}


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun:
    """Acceptance that does not commit, and what it would have said."""

    acceptance: Acceptance
    known_channels: KnownChannels
    clock: Clock
    mint: Callable[[int], str]
    attention: Attention | None = None

    async def run(self, envelope: object) -> Document:
        try:
            outgoing = await self.acceptance.placed(parse_notify(envelope, self.known_channels))
        except ValidationError as error:
            return _invalid(error)
        told = {"intent": str(outgoing.intent), "channel_adapter": f"{outgoing.channel}.{limits.SCOPE}"}
        request_id = outgoing.context.request_id if outgoing.context else self.mint(self.clock.now_us())
        try:
            forecast = await self.acceptance.forecast(await self.acceptance.draft(outgoing, request_id))
            held = await self._held(forecast.draft)
        except ValidationError as error:
            return _invalid(error) | told
        except (TargetUnavailable, InternalError) as error:
            return {"valid": True, "errors": []} | told | _verdict(error)
        return {"valid": True, "errors": []} | told | _shown(forecast) | held

    async def _held(self, draft: DeliveryDraft) -> Document:
        if self.attention is None or not may_be_held(draft.outgoing):
            return {}
        outcome = await self.attention.forecast(draft)
        return {"would_be_held": _held_words(outcome)} if outcome is not None else {}


def _held_words(outcome: Outcome) -> Document:
    until = to_text(outcome.until_us) if outcome.until_us is not None else None
    when = f"would be held until {until}" if until is not None else "would not be shown"
    return {"until": until, "reasons": list(outcome.reasons), "words": f"{when}: {because(outcome.reasons)}"}


def _shown(forecast: Forecast) -> Document:
    """A request that was made before gets the first one's answer and asks nothing of the limits."""
    known, judgement = forecast.known, forecast.judgement
    return {
        "target_identity": forecast.draft.new.target_identity,
        "rate_limit_headroom": _headroom(judgement.decision),
        "in_flight": judgement.decision.in_flight if judgement.decision else None,
        "circuit": str(judgement.circuit.state),
        "duplicate_of": {"delivery_id": known.id, "status": str(known.status)} if known else None,
        "may_need_approval": forecast.needs_approval,
    } | _verdict(judgement.error if known is None else None)


def _headroom(decision: AdmissionDecision | None) -> dict[str, float]:
    """Tokens left in each tier; a send or a reaction takes one, a reply less."""
    return {str(tier.type): tier.available for tier in decision.headroom} if decision else {}


def _verdict(error: PostroomError | None) -> Document:
    if error is None:
        return {"would_be_admitted": True}
    return {"would_be_admitted": False, "refusal": error_object(error)}


def _invalid(error: ValidationError) -> Document:
    return {"valid": False, "errors": _listed(error)} | _verdict(error)


def _listed(error: ValidationError) -> list[dict[str, str]]:
    return field_list(error.fields or [FieldError("delivery", error.message, "not_deliverable")])
