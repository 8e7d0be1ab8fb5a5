"""route.execute: who may route, for whom, and what comes back."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.clock import FakeClock
from tests.delivery.world import Parts, World, envelope, generous, living_world

from postroom.approvals.store.steps import ParkedDeliveries
from postroom.butlers.messenger.server import Execute
from postroom.butlers.messenger.tools import CorrectionDesk
from postroom.butlers.wire import build_notify_route, build_status_route, document_within
from postroom.delivery.afterwards.corrections import Corrections
from postroom.delivery.afterwards.store import StoredCorrections
from postroom.kernel.values.principal import OPERATOR, Principal, Role
from postroom.message.markup import Button, Markup
from postroom.message.outgoing import Outgoing
from postroom.overview.story import StoredDeliveries
from postroom.overview.why import SenderStatus

SWITCHBOARD = Principal(Role.BUTLER, "switchboard")


@pytest.fixture
async def world(tmp_path: Path, clock: FakeClock) -> AsyncIterator[World]:
    async with living_world(tmp_path / "postroom.db", clock, Parts(policy=generous())) as world:
        yield world


def route(**fields: Any) -> dict[str, Any]:
    return build_notify_route(request_id="r-1", received_at="2026-01-01T00:00:00Z", envelope=envelope(**fields))


async def execute(world: World, payload: Any, caller: Principal = SWITCHBOARD) -> dict[str, Any]:
    status = SenderStatus(record=StoredDeliveries(world.database), replays=world.plane.acceptance.ledger)
    record = StoredCorrections(world.database, world.plane.acceptance.mint, ParkedDeliveries())
    corrections = Corrections(plane=world.plane, record=record, closed=lambda: None)
    desk = CorrectionDesk(corrections=corrections, clock=world.clock, mint=world.plane.acceptance.mint, wait_seconds=20)
    messenger = Execute(plane=world.plane, status=status, clock=world.clock, corrections=desk)
    return await messenger.execute(caller, payload, wait_seconds=20)


@pytest.mark.requirement("notify:messenger-routing-via-switchboard", "messenger:delivery-validation-and-lineage")
@pytest.mark.parametrize("caller", [SWITCHBOARD, OPERATOR], ids=str)
async def test_a_route_is_answered_with_the_notify_s_answer_inside(world: World, caller: Principal) -> None:
    answer = await execute(world, route(), caller)

    assert (answer["schema_version"], answer["status"]) == ("route_response.v1", "ok")
    assert answer["result"]["notify_response"]["status"] == "ok"
    assert answer["request_context"]["request_id"] == "r-1"
    assert answer["timing"]["duration_ms"] >= 0
    [row] = await world.rows()
    assert (row["origin_butler"], row["request_id"]) == ("health", "r-1")


@pytest.mark.parametrize(
    "caller",
    [
        Principal(Role.BUTLER, "health"),
        Principal(Role.BUTLER, "messenger"),
        Principal(Role.USER, "switchboard"),
        Principal(Role.CONNECTOR, "switchboard"),
    ],
    ids=str,
)
async def test_nobody_else_routes(world: World, caller: Principal) -> None:
    answer = await execute(world, route(), caller)

    assert (answer["status"], answer["error"]["class"]) == ("error", "validation_error")
    assert await world.rows() == []


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        (["request_context", "source_sender_identity"], "general", "origin_butler"),
        (["input", "context"], None, "input.context.notify_request"),
        (["input", "context"], {"notify_request": "text"}, "input.context.notify_request"),
        (["schema_version"], "route.v2", "schema_version"),
    ],
)
async def test_a_route_that_is_wrong_delivers_nothing(world: World, path: list[str], value: Any, field: str) -> None:
    payload = copy.deepcopy(route())
    where: Any = payload
    for name in path[:-1]:
        where = where[name]
    where[path[-1]] = value

    answer = await execute(world, payload)

    assert answer["status"] == "error"
    assert answer["error"]["fields"][0]["field"] == field
    assert world.telegram.calls == []


@pytest.mark.parametrize("payload", [None, 5, "route", [], {}], ids=repr)
async def test_what_is_no_route_is_a_validation_error(world: World, payload: Any) -> None:
    assert (await execute(world, payload))["error"]["class"] == "validation_error"


def question(sender: str, delivery_id: str) -> dict[str, Any]:
    return build_status_route(
        request_id="r-2", received_at="2026-01-01T00:00:00Z", sender=sender, delivery_id=delivery_id
    )


async def test_a_sender_is_answered_what_became_of_its_delivery_and_nobody_else_is(world: World) -> None:
    sent = (await execute(world, route()))["result"]["notify_response"]["delivery"]["delivery_id"]

    own = await execute(world, question("health", sent))
    foreign = await execute(world, question("general", sent))
    unrouted = await execute(world, question("health", sent), Principal(Role.BUTLER, "health"))

    assert (own["status"], own["result"]["notify_response"]["delivery"]["status"]) == ("ok", "delivered")
    assert (foreign["status"], foreign["error"]["message"]) == ("error", f"Delivery {sent} not found")
    assert (unrouted["status"], unrouted["error"]["message"]) == ("error", "butler:health is not trusted to route")
    assert len(await world.rows()) == 1


@pytest.mark.requirement("house:buttons-are-the-households-own")
async def test_a_switchboard_brings_the_buttons_of_its_household(world: World) -> None:
    card = Outgoing(
        origin_butler="health",
        channel="telegram",
        message="Ship it?",
        markup=Markup(buttons=((Button(label="Yes", token="q1:yes"),),)),
    )
    payload = build_notify_route(request_id="r-1", received_at="2026-01-01T00:00:00Z", envelope=document_within(card))

    answer = await execute(world, payload)

    assert answer["status"] == "ok"
    assert [call.message.markup for call in world.telegram.calls] == [card.markup]
