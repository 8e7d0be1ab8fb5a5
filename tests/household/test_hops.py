"""Who called which part for a request, and when: a trace tells it from what every call leaves anyway."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from postroom.butlers.wire import build_notify_route
from tests.household.living import LIFTED, QUICK, Living, living


@pytest_asyncio.fixture
async def alive(home: Path) -> AsyncIterator[Living]:
    async with living(home, LIFTED, QUICK) as household:
        yield household


def shown(hop: dict[str, Any]) -> tuple[Any, ...]:
    return hop["source_butler"], hop["part"], hop["channel"], hop["intent"], hop["status"], hop["error_message"]


def context(request_id: str, thread: str) -> dict[str, str]:
    return {
        "request_id": request_id,
        "source_channel": "telegram",
        "source_endpoint_identity": "bot",
        "source_sender_identity": "1000",
        "source_thread_identity": thread,
    }


@pytest.mark.requirement("messenger:end-to-end-trace")
async def test_every_call_for_one_request_is_shown_also_those_that_led_to_nothing(alive: Living) -> None:
    first = await alive.notify(message="A question?")
    asked = context("inbound-of-hops", f"1000:{first['delivery']['provider_delivery_id']}")
    await alive.notify(intent="reply", message="So it is", request_context=asked)
    refused = await alive.notify(intent="react", message=None, emoji=None, request_context=asked)

    traced = await alive.traced("inbound-of-hops")

    assert [shown(hop) for hop in traced["hops"]] == [
        ("health", "switchboard", "telegram", "reply", "ok", None),
        ("health", "switchboard", "telegram", "react", "error", refused["error_message"]),
    ]
    assert traced["hops"][0]["delivery_id"] == traced["deliveries"][0]["id"]
    assert traced["refusals"] == []  # no limit had a word in it


async def test_a_route_that_came_over_a_wire_shows_the_same_hop(alive: Living) -> None:
    delivery = {"intent": "send", "channel": "telegram", "message": "By wire"}
    envelope = {"schema_version": "notify.v1", "origin_butler": "health", "delivery": delivery}
    route = build_notify_route(request_id="by-wire", received_at="2026-01-01T00:00:00Z", envelope=envelope)

    await alive.call("messenger", "route.execute", {"route": route}, caller="switchboard")

    [hop] = (await alive.traced("by-wire"))["hops"]
    assert shown(hop) == ("health", "switchboard", "telegram", "send", "ok", None)


async def test_what_the_messenger_says_itself_has_no_hop(alive: Living) -> None:
    answer = await alive.call("messenger", "notify", {"channel": "telegram", "message": "Mine"}, caller="messenger")

    traced = await alive.traced(answer["request_context"]["request_id"])

    assert (len(traced["deliveries"]), traced["hops"]) == (1, [])
