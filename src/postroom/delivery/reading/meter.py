"""What is counted and logged of every delivery; never what was said."""

from __future__ import annotations

import structlog
from prometheus_client import CollectorRegistry, Counter

from postroom.delivery.model import Claim, NewDelivery, Refusal, Settlement, Snapshot
from postroom.kernel.running.telemetry import TallyCounter, TallyHistogram
from postroom.message.delivery import Status

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
