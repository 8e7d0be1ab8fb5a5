"""The figures of the delivery plane."""

from __future__ import annotations

from dataclasses import replace

from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs
from tests.world.store.sample_deliveries import NOON_US, ending, mint, new_delivery

from postroom.domain.delivery import DeliveryEvent, DeliveryFailure, Status
from postroom.domain.errors import ErrorClass
from postroom.domain.ledger import Refusal
from postroom.system.telemetry.meter import DeliveryMeter
from postroom.world.store.deliveries.ledger_rows import new_snapshot

TELEGRAM = {"channel": "telegram"}
WHO = {**TELEGRAM, "intent": "send", "origin_butler": "health"}


def test_what_happens_is_counted_and_what_is_said_is_not_logged() -> None:
    registry = CollectorRegistry()
    meter = DeliveryMeter(registry)
    new = new_delivery(message="canary", subject="canary")
    refusal = Refusal(
        id=mint(),
        idempotency_key="k",
        request_id="r",
        origin_butler="health",
        channel="telegram",
        intent=new.intent,
        target_identity="1",
        failure=DeliveryFailure(ErrorClass.OVERLOAD, "canary", 1.0),
        limit_type="global",
        trace_id=None,
        created_at_us=NOON_US,
    )

    with capture_logs() as logs:
        meter.accepted(new)
        meter.repeated(new_snapshot(new, Status.PENDING))
        meter.refused(refusal)
        meter.settled(ending(new.claimed(sending=True), DeliveryEvent.RETRY))
        meter.settled(ending(replace(new.claimed(sending=True), attempts=1), DeliveryEvent.DELIVER))
        meter.bug(new.claimed(sending=True), KeyError("canary"))

    def value(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(f"postroom_{name}", labels)

    assert value("delivery_requested_total", **WHO) == 1
    assert value("delivery_deduplicated_total", **WHO) == 1
    assert value("admission_rejected_total", **TELEGRAM, error_class="overload_rejected", limit_type="global") == 1
    assert value("delivery_settled_total", **TELEGRAM, status="pending") == 1
    assert value("delivery_settled_total", **TELEGRAM, status="delivered") == 1
    assert value("attempt_failed_total", **TELEGRAM, error_class="target_unavailable") == 1
    assert value("provider_latency_seconds_count", **TELEGRAM) == 2
    assert value("delivery_latency_seconds_count", **TELEGRAM) == 1
    assert "canary" not in str(logs)
    assert {line["event"] for line in logs} == {"delivery.refused", "delivery.settled", "delivery.bug"}
