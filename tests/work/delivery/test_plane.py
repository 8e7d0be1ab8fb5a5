"""The one way out, tried with everything that is not an envelope."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.clock import FakeClock
from tests.domain.envelopes import spoiled
from tests.work.delivery.world import Parts, World, envelope, generous, living_world

from postroom.domain.errors import ValidationError
from postroom.domain.notify import parse_notify
from postroom.doors.messenger.deliver_envelope import deliver_envelope


@pytest.fixture
async def world(tmp_path: Path, clock: FakeClock) -> AsyncIterator[World]:
    async with living_world(tmp_path / "postroom.db", clock, Parts(policy=generous())) as world:
        yield world


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
