"""Counts the rounds of background loops that failed, for Prometheus."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter


class LoopMeter:
    def __init__(self, registry: CollectorRegistry) -> None:
        self._errors = Counter(
            "postroom_loop_errors", "Rounds of background work that failed", ["loop", "kind"], registry=registry
        )

    def failed(self, loop: str, kind: str) -> None:
        self._errors.labels(loop, kind).inc()
