"""Counts the rows that the switchboard's own log could not keep, for Prometheus and the log."""

from __future__ import annotations

import structlog
from prometheus_client import CollectorRegistry, Counter


class HopMeter:
    def __init__(self, registry: CollectorRegistry) -> None:
        self._log = structlog.get_logger("postroom.switchboard")
        self._lost = Counter(
            "postroom_hop_log_failed", "Rows the switchboard's log could not keep", ["kind"], registry=registry
        )

    def lost(self, error: BaseException) -> None:
        """Its kind and its place alone: the error may repeat what the row was to say."""
        self._lost.labels(type(error).__name__).inc()
        self._log.warning("hop_log.failed", exc_info=error)
