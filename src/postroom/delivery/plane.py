"""The one way out: everything that leaves Postroom leaves through here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog
from prometheus_client import CollectorRegistry, Counter

from postroom.delivery.accept import Acceptance, Accepted
from postroom.delivery.dispatcher import Dispatcher, Outcomes
from postroom.delivery.model import Claim, NewDelivery, Refusal, Settlement, Snapshot, outcome_of
from postroom.delivery.seams import Considers, Limits
from postroom.kernel.running.telemetry import TallyCounter, TallyHistogram
from postroom.kernel.values.errors import PostroomError, StoreUnavailable
from postroom.kernel.values.ids import DeliveryId
from postroom.message.channel import KnownChannels
from postroom.message.delivery import TERMINAL, Intent, Status
from postroom.message.outgoing import Outcome, Outgoing, refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Plane:
    acceptance: Acceptance
    dispatcher: Dispatcher
    outcomes: Outcomes
    known_channels: KnownChannels
    attention: Considers | None = None

    async def submit(self, outgoing: Outgoing, *, request_id: str, wait_seconds: float) -> Outcome:
        """
        Once accepted, the delivery goes on whatever becomes of the caller: hanging
        up or running out of patience cancels the waiting and nothing else.
        """
        request_id = outgoing.context.request_id if outgoing.context else request_id
        try:
            if self.attention is not None and may_be_held(outgoing):
                held = await self.attention.consider(outgoing, request_id, wait_seconds=wait_seconds)
                if held is not None:
                    return held
            accepted = await self.acceptance.accept(outgoing, request_id=request_id)
        except PostroomError as error:
            return refused(error, request_id=request_id, channel=outgoing.channel)
        return outcome_of(await self.snapshot(accepted, wait_seconds), request_id=request_id)

    async def stop(self, drain_seconds: float) -> None:
        """Lets the calls that are being made finish, then tells whoever waits for anything else what is known."""
        await self.dispatcher.drain(drain_seconds)
        self.outcomes.let_go()

    async def snapshot(self, accepted: Accepted, wait_seconds: float) -> Snapshot:
        """What is known when the waiting ends; stored is stored, even if the store is away just then."""
        snapshot = accepted.snapshot
        if snapshot.status in TERMINAL or snapshot.status is Status.AWAITING_APPROVAL or wait_seconds <= 0:
            return snapshot
        try:
            outcome = await self.outcomes.wait(snapshot.id, wait_seconds, look_first=accepted.claim is None)
            return outcome or await self.acceptance.ledger.get(snapshot.id) or snapshot
        except StoreUnavailable:
            return snapshot


def may_be_held(outgoing: Outgoing) -> bool:
    """An answer is awaited, a correction belongs to what was sent, and the household's own cards have buttons."""
    return not (
        outgoing.released
        or outgoing.revises
        or outgoing.follows
        or outgoing.markup
        or outgoing.intent is not Intent.SEND
    )


# -- Deliveries that another process has settled ---

_Over = Callable[[], Awaitable[list[DeliveryId]]]  # deliveries that hold a place in flight here and have ended


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledElsewhere:
    dispatcher: Dispatcher
    outcomes: Outcomes
    limits: Limits
    over: _Over | None  # None where all processes share their places: the one who settled has released it

    async def heard(self, ids: list[DeliveryId] | None) -> None:
        """None: notices may have been missed, so everything of ours is looked at."""
        await self.outcomes.refresh(ids if ids is None else self._of_others(ids))
        if self.over is not None:
            for one in ids if ids is not None else await self.over():
                await self.limits.release(one)

    def _of_others(self, ids: list[DeliveryId]) -> list[DeliveryId]:
        """We hear of our own before any notice."""
        return [one for one in ids if not self.dispatcher.has_in_hand(one)]


# -- What is counted and logged of all this; never what was said ---

_LATENCY_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 45, 60)


class DeliveryMeter:
    def __init__(self, registry: CollectorRegistry) -> None:
        labels = ["channel", "intent", "origin_butler"]
        self._log = structlog.get_logger("postroom.delivery").bind()  # once: it costs more than a line nobody wants
        self._requested = TallyCounter("postroom_delivery_requested", "Deliveries stored", labels, registry)
        self._repeated = Counter(
            "postroom_delivery_deduplicated", "Requests answered from an earlier one", labels, registry=registry
        )
        self._rejected = Counter(
            "postroom_admission_rejected",
            "Requests turned away",
            ["channel", "error_class", "limit_type"],
            registry=registry,
        )
        self._settled = TallyCounter(
            "postroom_delivery_settled", "Attempts by what followed", ["channel", "status"], registry
        )
        self._failures = Counter(
            "postroom_attempt_failed", "Failed provider calls", ["channel", "error_class"], registry=registry
        )
        self._asked = Counter(
            "postroom_provider_asked",
            "Doubtful calls about which the provider was asked, by its answer",
            ["channel", "answer"],
            registry=registry,
        )
        self._provider = TallyHistogram(
            "postroom_provider_latency_seconds", "Provider call", "channel", _LATENCY_SECONDS, registry
        )
        self._total = TallyHistogram(
            "postroom_delivery_latency_seconds", "From stored to delivered", "channel", _LATENCY_SECONDS, registry
        )

    def accepted(self, new: NewDelivery) -> None:
        self._requested.count(new.channel, new.intent, new.origin_butler)

    def repeated(self, snapshot: Snapshot) -> None:
        self._repeated.labels(snapshot.channel, str(snapshot.intent), snapshot.origin_butler).inc()

    def refused(self, refusal: Refusal) -> None:
        limit = refusal.limit_type or ""
        self._rejected.labels(refusal.channel, str(refusal.failure.error_class), limit).inc()
        self._log.warning(
            "delivery.refused",
            request_id=refusal.request_id,
            channel=refusal.channel,
            error_class=str(refusal.failure.error_class),
            limit_type=limit,
        )

    def settled(self, done: Settlement) -> None:
        claim, attempt = done.claim, done.attempt
        self._settled.count(claim.channel, done.status)
        if attempt:
            self._provider.observe(claim.channel, attempt.latency_ms / 1000)
            if attempt.failure:
                self._failures.labels(claim.channel, str(attempt.failure.error_class)).inc()
            if attempt.asked:
                self._asked.labels(claim.channel, str(attempt.asked.presence)).inc()
        if done.status is Status.DELIVERED:
            self._total.observe(claim.channel, (done.at_us - claim.created_at_us) / 1_000_000)
        self._log.info(
            "delivery.settled",
            delivery_id=claim.id,
            request_id=claim.request_id,
            channel=claim.channel,
            status=str(done.status),
            attempts=done.attempts,
            error_class=str(done.failure.error_class) if done.failure else None,
            trace_id=claim.trace_id,
        )

    def bug(self, claim: Claim | None, error: Exception) -> None:
        about = {"delivery_id": claim.id, "channel": claim.channel} if claim else {}
        self._log.error("delivery.bug", **about, error=type(error).__name__)
