"""The figures of the delivery plane."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs
from tests.delivery.world import World, envelope
from tests.support.envelopes import spoiled
from tests.support.sample_deliveries import NOON_US, ending, mint, new_delivery

from postroom.delivery.model import Refusal
from postroom.delivery.notify import deliver_envelope
from postroom.delivery.reading.meter import DeliveryMeter
from postroom.delivery.store.rows import new_snapshot
from postroom.kernel.values.errors import ErrorClass, ValidationError
from postroom.message.delivery import DeliveryEvent, DeliveryFailure, Status
from postroom.message.wire import parse_notify

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


@pytest.mark.requirement("messenger:delivery-validation-and-lineage")
async def test_ten_thousand_wrong_envelopes_leave_no_row_and_no_message(world: World) -> None:
    dice = random.Random(3)
    refused = 0
    while refused < 10_000:
        wrong = spoiled(dice)
        try:
            parse_notify(wrong, world.plane.known_channels)
            continue  # still a good one
        except ValidationError:
            refused += 1
        answer = await deliver_envelope(world.plane, wrong, request_id="r", wait_seconds=5)
        assert (answer["status"], answer["error_class"], answer["retryable"]) == ("error", "validation_error", False)
        assert answer["error"]["fields"]

    assert await world.rows() == []
    assert world.telegram.calls == world.email.calls == []
    assert world.tally.stored == []


async def test_an_answer_carries_the_request_it_belongs_to(world: World) -> None:
    plain = await world.send(request_id="r-7", wait_seconds=5)
    context = {
        "request_id": "inbound-7",
        "source_channel": "telegram",
        "source_endpoint_identity": "bot",
        "source_sender_identity": "1000",
        "source_thread_identity": "1000:5",
    }
    reply = await deliver_envelope(
        world.plane, envelope(intent="reply", request_context=context), request_id="r-8", wait_seconds=5
    )

    assert plain["request_context"] == {"request_id": "r-7"}
    assert reply["request_context"] == {"request_id": "inbound-7"}
    assert [row["request_id"] for row in await world.rows()] == ["r-7", "inbound-7"]


async def test_a_delivery_that_was_stored_though_the_answer_was_lost_is_accepted_once(world: World) -> None:
    world.database.lost_answers = 1

    answer = await world.send(wait_seconds=5)

    assert answer["status"] == "ok"
    assert len(world.telegram.calls) == len(world.tally.stored) == len(await world.rows()) == 1
