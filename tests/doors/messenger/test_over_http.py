"""The messenger's tools over HTTP, in a whole household."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from tests.app.living import PORTS, started

from postroom.household.wiring.console import RunningHousehold
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.values.errors import TargetUnavailable
from postroom.kernel.values.principal import OPERATOR, Principal, Role
from postroom.settings import Settings
from postroom.settings.peer import HttpPeer


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
