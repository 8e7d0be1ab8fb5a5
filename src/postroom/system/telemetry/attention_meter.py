"""Shows for Prometheus whether every notice is accounted for."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Gauge


class AttentionMeter:
    def __init__(self, registry: CollectorRegistry) -> None:
        self._unaccounted = Gauge(
            "postroom_attention_unaccounted", "Notices that break a law of attention; must be 0", registry=registry
        )

    def unaccounted(self, count: int) -> None:
        self._unaccounted.set(count)
