"""What is counted and logged of every delivery; never what was said."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

import structlog
from prometheus_client import CollectorRegistry, Counter
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from postroom.delivery.model import Claim, NewDelivery, Refusal, Settlement, Snapshot
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


# Counts and sums for Prometheus that cost one look into a dictionary: for what happens to every message.


class TallyCounter(Collector):
    """A counter. The library's own takes a lock for each step; ours are taken in one event loop."""

    def __init__(self, name: str, words: str, labels: Sequence[str], registry: CollectorRegistry) -> None:
        self._about = (name, words, tuple(labels))
        self._counted: dict[tuple[str, ...], int] = {}
        registry.register(self)

    def count(self, *labels: str) -> None:
        self._counted[labels] = self._counted.get(labels, 0) + 1

    def describe(self) -> Iterator[CounterMetricFamily]:
        name, words, names = self._about
        yield CounterMetricFamily(name, words, labels=names)

    def collect(self) -> Iterator[CounterMetricFamily]:
        for family in self.describe():
            for labels, counted in self._counted.items():
                family.add_metric(labels, counted)
            yield family


class TallyHistogram(Collector):
    """A histogram with one label; `bounds` are the upper ones, the last has none."""

    def __init__(self, name: str, words: str, label: str, bounds: Sequence[float], registry: CollectorRegistry) -> None:
        self._about = (name, words, (label,))
        self._bounds = tuple(bounds)
        self._counted: dict[str, list[int]] = {}
        self._sums: dict[str, float] = {}
        registry.register(self)

    def observe(self, label: str, value: float) -> None:
        if label not in self._counted:
            self._counted[label], self._sums[label] = [0] * (len(self._bounds) + 1), 0.0
        self._counted[label][bisect_left(self._bounds, value)] += 1
        self._sums[label] += value

    def describe(self) -> Iterator[HistogramMetricFamily]:
        name, words, names = self._about
        yield HistogramMetricFamily(name, words, labels=names)

    def collect(self) -> Iterator[HistogramMetricFamily]:
        bounds = [*(str(float(one)) for one in self._bounds), "+Inf"]
        for family in self.describe():
            for label, counted in self._counted.items():
                so_far = [sum(counted[: place + 1]) for place in range(len(counted))]
                family.add_metric([label], list(zip(bounds, so_far, strict=True)), self._sums[label])
            yield family
