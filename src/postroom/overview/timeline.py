"""The life of one delivery in the order it happened, from the tool call to the receipt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from postroom.approvals.model import ApprovalEventType
from postroom.console.words import milliseconds, state_tone, state_word
from postroom.delivery.afterwards.rules import CorrectionAct, How
from postroom.message.delivery import Status
from postroom.message.inbound import NewsKind
from postroom.overview.story import DeliveryFile, Hop
from postroom.overview.why import asked_first, said_later, waiting_words, why_refused

_DECISIONS: Final = {
    ApprovalEventType.ACTION_QUEUED: ("Parked for approval", "ask"),
    ApprovalEventType.ACTION_AUTO_APPROVED: ("Approved by a standing rule", "good"),
    ApprovalEventType.ACTION_APPROVED: ("Approved", "good"),
    ApprovalEventType.ACTION_REJECTED: ("Rejected", "bad"),
    ApprovalEventType.ACTION_EXPIRED: ("Nobody answered in time", "bad"),
    ApprovalEventType.ACTION_REVISED: ("Parked anew with another text", "ask"),
    ApprovalEventType.ACTION_WITHDRAWN: ("Withdrawn before a decision", "plain"),
    ApprovalEventType.DECISION_REFUSED: ("A decision came too late", "warn"),
    ApprovalEventType.RULE_CREATED: ("A standing rule was made from it", "plain"),
}


_CORRECTED: Final = {
    (CorrectionAct.REVISE, True): "Revised before it was sent",
    (CorrectionAct.REVISE, False): "A revision was asked for",
    (CorrectionAct.RECALL, True): "Withdrawn before it was sent",
    (CorrectionAct.RECALL, False): "A recall was asked for",
}
_NEWS_TONES: Final = {NewsKind.READ: "good", NewsKind.DELAYED: "wait"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineMoment:
    """One line; `delivery_id` is another delivery it leads to."""

    at_us: int
    title: str
    detail: str = ""
    tone: str = "plain"
    delivery_id: str | None = None


def timeline(file: DeliveryFile, now_us: int) -> list[TimelineMoment]:
    """Sorted by time; what happened at the same moment keeps the order of cause and effect."""
    moments = [
        *_hops(file),
        *_refusals(file, now_us),
        *_stored(file),
        *_decisions(file),
        *_attempts(file),
        *_receipts(file),
        *_ending(file),
        *_news(file),
        *_dead_letter(file),
        *_replays(file),
        *_corrections(file),
        *_next(file, now_us),
    ]
    return sorted(moments, key=lambda one: one.at_us)


def _hops(file: DeliveryFile) -> Iterator[TimelineMoment]:
    for hop in file.hops:
        yield TimelineMoment(
            at_us=hop.created_at_us,
            title=f"{hop.source_butler} asked for it",
            detail=f"By the {hop.part}{_turned_away(hop)}.",
            tone="plain" if hop.delivery_id or not hop.error_message else "bad",
        )


def _turned_away(hop: Hop) -> str:
    stored = hop.delivery_id or not hop.error_message
    return "" if stored else f", which turned it away: {hop.error_message}"


def _refusals(file: DeliveryFile, now_us: int) -> Iterator[TimelineMoment]:
    for refusal in file.refusals:
        yield TimelineMoment(
            at_us=refusal.created_at_us,
            title="Refused by a limit" if refusal.limit_type != "circuit" else "Refused while the channel was paused",
            detail=why_refused(refusal, now_us),
            tone="warn",
        )


def _stored(file: DeliveryFile) -> Iterator[TimelineMoment]:
    delivery = file.traced.delivery
    if delivery.replay_of:
        title, detail = f"Replay {delivery.replay_number} was stored", "The same content, sent once more."
    else:
        title = "Admitted and stored"
        detail = f"Every limit had room, and {delivery.channel} was not paused."
    yield TimelineMoment(at_us=delivery.created_at_us, title=title, detail=detail, delivery_id=delivery.replay_of)


def _decisions(file: DeliveryFile) -> Iterator[TimelineMoment]:
    for event in file.approval_events:
        title, tone = _DECISIONS.get(event.type, (state_word(event.type), "plain"))
        reason = f" {event.reason}" if event.reason else ""
        yield TimelineMoment(at_us=event.at_us, title=title, detail=f"By {event.actor}.{reason}", tone=tone)


def _attempts(file: DeliveryFile) -> Iterator[TimelineMoment]:
    for attempt in file.traced.attempts:
        told = [asked_first(file.traced.delivery.channel, attempt.asked)] if attempt.asked else []
        told.append(f"The call took {milliseconds(attempt.latency_ms)}.")
        if attempt.error_class:
            told.append(f"{attempt.error_class}: {attempt.error_message}")
        if attempt.provider_response not in (None, attempt.error_message):
            told.append(f"The provider said: {attempt.provider_response}")
        yield TimelineMoment(
            at_us=attempt.started_at_us,
            title=f"Attempt {attempt.attempt_number}: {state_word(attempt.outcome)}",
            detail=" ".join(told),
            tone=state_tone(attempt.outcome),
        )


def _receipts(file: DeliveryFile) -> Iterator[TimelineMoment]:
    for receipt in file.traced.receipts:
        yield TimelineMoment(
            at_us=receipt.received_at_us,
            title="Receipt",
            detail=f"Part {receipt.part} is known to the provider as {receipt.provider_delivery_id}.",
            tone="good",
        )


def _ending(file: DeliveryFile) -> Iterator[TimelineMoment]:
    delivery = file.traced.delivery
    if delivery.terminal_at_us is not None:
        told = delivery.terminal_error_message or ""
        if delivery.provider_delivery_id and delivery.status is Status.DELIVERED:
            told = f"The provider's receipt is {delivery.provider_delivery_id}."
        yield TimelineMoment(
            at_us=delivery.terminal_at_us,
            title=state_word(delivery.status),
            detail=told,
            tone=state_tone(delivery.status),
        )


def _news(file: DeliveryFile) -> Iterator[TimelineMoment]:
    for one in file.traced.news:
        yield TimelineMoment(
            at_us=one.at_us,
            title="Late news",
            detail=said_later(one.kind, one.words),
            tone=_NEWS_TONES.get(one.kind, "bad"),
        )


def _dead_letter(file: DeliveryFile) -> Iterator[TimelineMoment]:
    letter = file.traced.letter
    if letter and letter.discarded_at_us is not None:
        yield TimelineMoment(at_us=letter.discarded_at_us, title="Discarded", detail=letter.discard_reason or "")


def _replays(file: DeliveryFile) -> Iterator[TimelineMoment]:
    for one in file.siblings:
        if one.replay_of == file.traced.delivery.delivery_id:
            yield TimelineMoment(
                at_us=one.created_at_us,
                title=f"Replay {one.replay_number}: {state_word(one.status)}",
                tone=state_tone(one.status),
                delivery_id=one.delivery_id,
            )


def _next(file: DeliveryFile, now_us: int) -> Iterator[TimelineMoment]:
    delivery = file.traced.delivery
    if delivery.status is Status.PENDING and delivery.not_before_us > now_us:
        yield TimelineMoment(
            at_us=delivery.not_before_us,
            title="The next try",
            detail=waiting_words(delivery),
            tone="wait",
        )


def _corrections(file: DeliveryFile) -> Iterator[TimelineMoment]:
    for one in file.traced.corrections:
        title = _CORRECTED[one.act, one.how is How.IN_PLACE]
        is_revision = one.act is CorrectionAct.REVISE
        detail = f"Version {one.version}, asked for by {one.actor}" if is_revision else one.actor
        detail += f": {one.reason}" if one.reason else ""
        yield TimelineMoment(at_us=one.at_us, title=title, detail=detail, delivery_id=one.carried_by)
