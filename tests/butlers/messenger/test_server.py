"""route.execute: who may route, for whom, and what comes back."""

from __future__ import annotations

import copy
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from tests.butlers.messenger.house import ANNA, BEN, CHATGPT, CI, HEALTH, MESSENGER, OWNER, SWITCHBOARD, House, opened
from tests.clock import FakeClock
from tests.delivery.world import Parts, World, envelope, generous, living_world
from tests.household.living import PORTS, started
from tests.support.envelopes import notify_route

from postroom.approvals.store.steps import ParkedDeliveries
from postroom.butlers.messenger import acts
from postroom.butlers.messenger.desk import CorrectionDesk
from postroom.butlers.messenger.server import (
    APPROVAL_TOOL_NAMES,
    Execute,
)
from postroom.butlers.wire import correction_request, document_within, messenger_route
from postroom.delivery.afterwards.corrections import Corrections
from postroom.delivery.afterwards.store import StoredCorrections
from postroom.household.console import RunningHousehold
from postroom.kernel.acts.declaration import Act
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.values.errors import TargetUnavailable
from postroom.kernel.values.principal import OPERATOR, Principal, Role
from postroom.message.markup import Button, Markup
from postroom.message.outgoing import Outgoing
from postroom.settings import Settings
from postroom.settings.peer import HttpPeer


@pytest.fixture
async def world(tmp_path: Path, clock: FakeClock) -> AsyncIterator[World]:
    async with living_world(tmp_path / "postroom.db", clock, Parts(policy=generous())) as world:
        yield world


def route(**fields: Any) -> dict[str, Any]:
    return notify_route(envelope(**fields))


async def execute(world: World, payload: Any, caller: Principal = SWITCHBOARD) -> dict[str, Any]:
    record = StoredCorrections(world.database, world.plane.acceptance.mint, ParkedDeliveries())
    corrections = Corrections(plane=world.plane, record=record, closed=lambda: None)
    desk = CorrectionDesk(corrections=corrections, clock=world.clock, mint=world.plane.acceptance.mint, wait_seconds=20)
    messenger = Execute(plane=world.plane, clock=world.clock, corrections=desk)
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


async def test_nobody_else_routes(world: World) -> None:
    for caller in (HEALTH, MESSENGER, Principal(Role.USER, "switchboard"), Principal(Role.CONNECTOR, "switchboard")):
        answer = await execute(world, route(), caller)

        assert (answer["status"], answer["error"]["class"]) == ("error", "validation_error"), caller
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


async def test_what_is_no_route_is_a_validation_error(world: World) -> None:
    for payload in (None, 5, "route", [], {}):
        assert (await execute(world, payload))["error"]["class"] == "validation_error", payload


def recall(who: Principal, delivery_id: str) -> dict[str, Any]:
    work = correction_request({"act": "recall", "delivery_id": delivery_id}, who)
    return messenger_route(work, request_id="r-2", received_at="2026-01-01T00:00:00Z", sender=str(who))


async def test_a_correction_is_taken_from_the_household_alone_which_says_who_asks_for_it(world: World) -> None:
    sent = (await execute(world, route()))["result"]["notify_response"]["delivery"]["delivery_id"]

    foreign = await execute(world, recall(Principal(Role.BUTLER, "general"), sent), OPERATOR)
    nobodys = await execute(world, recall(Principal(Role.USER, "health"), sent), OPERATOR)
    claimed = await execute(world, recall(Principal(Role.BUTLER, "health"), sent), SWITCHBOARD)
    unrouted = await execute(world, recall(Principal(Role.BUTLER, "health"), sent), Principal(Role.BUTLER, "health"))
    own = await execute(world, recall(Principal(Role.BUTLER, "health"), sent), OPERATOR)

    for refused in (foreign, nobodys):
        [field] = refused["result"]["notify_response"]["error"]["fields"]
        assert (refused["status"], field["code"]) == ("error", "unknown_delivery")
    assert (claimed["status"], claimed["error"]["message"]) == ("error", "butler:switchboard is not trusted to correct")
    assert (unrouted["status"], unrouted["error"]["message"]) == ("error", "butler:health is not trusted to route")
    assert own["result"]["notify_response"]["status"] == "recalled"


@pytest.mark.requirement("house:buttons-are-the-households-own")
async def test_a_switchboard_brings_the_buttons_of_its_household(world: World) -> None:
    card = Outgoing(
        origin_butler="health",
        channel="telegram",
        message="Ship it?",
        markup=Markup(buttons=((Button(label="Yes", token="q1:yes"),),)),
    )
    payload = notify_route(document_within(card))

    answer = await execute(world, payload)

    assert answer["status"] == "ok"
    assert [call.message.markup for call in world.telegram.calls] == [card.markup]


# Who may call which tool.

STRANGER = Principal(Role.USER, "without a token")


def tools(several: Sequence[type[Act[Any]]]) -> list[str]:
    return [one.declared.tool.name for one in several if one.declared.tool is not None]


ALLOWED = {
    "route.execute": {SWITCHBOARD, OPERATOR},
    **dict.fromkeys(tools(acts.CHANNEL), frozenset({MESSENGER, OPERATOR})),
    **dict.fromkeys(tools(acts.RECORD), frozenset({MESSENGER, OPERATOR})),
    **dict.fromkeys(tools(acts.REPAIRING), frozenset({OWNER, OPERATOR})),
}


async def is_let_in(house: House, tool: str, caller: Principal) -> bool:
    try:
        await house.client.call_tool(tool, {}, meta=house.meta(caller))
    except MCPError as error:
        assert f"may not call {tool}" in error.error.message
        return False
    return True


@pytest.mark.requirement("messenger:messenger-channel-ownership", "messenger:channel-tool-surface")
async def test_every_tool_answers_to_its_own_callers_and_to_nobody_else(settings: Settings) -> None:
    async with opened(settings) as house:
        for tool, allowed in ALLOWED.items():
            for caller in (OPERATOR, MESSENGER, SWITCHBOARD, HEALTH, ANNA, BEN, OWNER, CI, CHATGPT, STRANGER):
                assert await is_let_in(house, tool, caller) is (caller in allowed), (tool, str(caller))


@pytest.mark.parametrize(
    ("approvers", "allowed"),
    [
        ([], {OPERATOR, OWNER}),
        (["anna"], {OPERATOR, OWNER, ANNA}),
        (["ben", "anna"], {OPERATOR, OWNER, ANNA, BEN}),
        (["somebody else", "chatgpt", "health"], {OPERATOR, OWNER}),
    ],
    ids=["none named", "one named", "two named", "others named"],
)
async def test_what_waits_is_shown_to_and_decided_by_those_who_are_named(
    settings: Settings, approvers: list[str], allowed: set[Principal]
) -> None:
    chosen = settings.approvals.model_copy(update={"enabled": True, "approvers": approvers})
    async with opened(settings.model_copy(update={"approvals": chosen})) as house:
        for tool in APPROVAL_TOOL_NAMES:
            for caller in (OPERATOR, MESSENGER, HEALTH, ANNA, BEN, OWNER, CI, CHATGPT):
                assert await is_let_in(house, tool, caller) is (caller in allowed), (tool, str(caller))


async def test_the_server_lists_to_the_operator_every_tool(settings: Settings) -> None:
    gated = settings.model_copy(update={"approvals": settings.approvals.model_copy(update={"enabled": True})})
    async with opened(gated) as house:
        listed = (await house.client.list_tools(meta=house.meta(OPERATOR))).tools

        assert {tool.name for tool in listed} == {"route.execute", *tools(acts.ACTS), *APPROVAL_TOOL_NAMES}
        assert len(acts.RECORD) + len(acts.REPAIRING) == 14


async def test_every_tool_describes_itself_its_arguments_and_its_answer(settings: Settings) -> None:
    async with opened(settings) as house:
        for tool in (await house.client.list_tools(meta=house.meta(OPERATOR))).tools:
            assert len(tool.description or "") > 40, tool.name
            assert "  " not in (tool.description or ""), tool.name
            assert tool.output_schema is not None, tool.name
            assert tool.annotations is not None, tool.name
            if tool.name != "route.execute":
                assert tool.output_schema["properties"], tool.name
                for name, argument in tool.input_schema["properties"].items():
                    assert {"type", "anyOf"} & set(argument), (tool.name, name)


async def test_while_approvals_are_off_their_tools_say_so(settings: Settings) -> None:
    async with opened(settings) as house:
        for tool in APPROVAL_TOOL_NAMES:
            told = await house.client.call_tool(tool, {"action_id": "x"}, meta=house.meta(OPERATOR))

            assert told.is_error
            assert re.search(f"approvals are switched off .* so there is no {tool}", told.content[0].text)


# Over HTTP.


def household(settings: Settings) -> AbstractAsyncContextManager[RunningHousehold]:
    whole = settings.model_copy(update={"ports": settings.ports.model_copy(update=dict.fromkeys(PORTS, 0))})
    return started(whole)


def connected(url: str, token: str | None) -> Client:
    headers = {"Authorization": f"Bearer {token}"}
    return Client(streamable_http_client(url, http_client=httpx2.AsyncClient(headers=headers)))


@pytest.mark.requirement("messenger:delivery-status-lookup", "messenger:messenger-channel-ownership")
async def test_a_message_is_sent_and_looked_up_over_http(settings: Settings) -> None:
    async with household(settings) as house:
        tokens = TokenFile(settings.tokens_file)
        url = house.addresses["messenger"]
        async with connected(url, tokens.token_of(OPERATOR)) as client:
            sent = await client.call_tool("telegram_send_message", {"chat_id": "1000", "text": "over http"})
            told = await client.call_tool(
                "messenger_delivery_status", {"delivery_id": sent.structured_content["delivery"]["delivery_id"]}
            )
            traced = await client.call_tool(
                "messenger_delivery_trace", {"request_id": sent.structured_content["request_context"]["request_id"]}
            )
            stats = await client.call_tool("messenger_delivery_stats", {"group_by": "channel"})

        assert told.structured_content["status"] == "delivered"
        assert traced.structured_content["deliveries"][0]["message_content"] == "over http"
        assert stats.structured_content["groups"]["telegram"]["success_rate"] == 1.0
        peer = HttpPeer("messenger", url, tokens.token_of(Principal(Role.BUTLER, "health")) or "")
        for tool in ("telegram_send_message", "messenger_delivery_search"):
            with pytest.raises(TargetUnavailable, match="does not accept our token"):
                await peer.call(tool, {"chat_id": "1000", "text": "past the switchboard"}, 10)
        await peer.close()


@pytest.mark.requirement("messenger:end-to-end-trace")
async def test_a_butlers_notify_can_be_traced_through_switchboard_and_messenger(settings: Settings) -> None:
    async with household(settings) as house:
        tokens = TokenFile(settings.tokens_file)
        async with connected(house.addresses["health"], tokens.token_of(Principal(Role.BUTLER, "health"))) as client:
            answer = (
                await client.call_tool("notify", {"channel": "telegram", "message": "take your pills"})
            ).structured_content
        async with connected(house.addresses["messenger"], tokens.token_of(OPERATOR)) as client:
            traced = (
                await client.call_tool(
                    "messenger_delivery_trace", {"request_id": answer["request_context"]["request_id"]}
                )
            ).structured_content

        assert answer["status"] == "ok"
        assert [one["source_butler"] for one in traced["hops"]] == ["health"]
        (stored,) = traced["deliveries"]
        assert (stored["origin_butler"], stored["status"]) == ("health", "delivered")
        assert len(stored["attempts"]) == len(stored["receipts"]) == 1
