"""The stream of questions: each reader's own, in order, and from where it stopped."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.doors.asks.askers import ANNA, BEN, GENERAL, HEALTH, SHIP, Askers
from tests.patience import PATIENCE_SECONDS

from postroom.kernel.values.principal import OPERATOR, Principal

pytestmark = pytest.mark.asyncio(loop_scope="module")
Told = tuple[str, int, dict[str, Any]]


class Reader:
    def __init__(self, content: Any) -> None:
        self._content = content

    async def next(self) -> Told:
        event: dict[str, str] = {}
        async with asyncio.timeout(PATIENCE_SECONDS):
            async for line in self._content:
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name:
                    event[name] = value
                elif "data" in event:
                    return event["event"], int(event["id"]), json.loads(event["data"])
        raise AssertionError("the stream ended")


@asynccontextmanager
async def reading(house: Askers, who: Principal, last: int | None = None) -> AsyncIterator[Reader]:
    headers = {"Authorization": f"Bearer {house.token(who)}"} | ({"Last-Event-ID": str(last)} if last else {})
    async with house.line.session.get(house.line.url("api") + "/v1/asks/stream", headers=headers) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        yield Reader(response.content)


@pytest.mark.requirement("ask:stream")
async def test_events_arrive_in_order_and_a_later_stream_goes_on_where_one_stopped(house: Askers) -> None:
    async with reading(house, HEALTH) as reader:
        asked = (await house.post("/v1/asks", {**SHIP, "question": "Streamed?"})).body["ask_id"]
        opened = await reader.next()
        await house.post(f"/v1/asks/{asked}/revise", {"question": "Streamed again?"})
        revised = await reader.next()
    await house.answer(asked, {"value": "yes"})
    async with reading(house, HEALTH, last=revised[1]) as reader:
        answered = await reader.next()
    async with reading(house, HEALTH, last=opened[1]) as reader:
        again = [await reader.next(), await reader.next()]

    assert [one[0] for one in (opened, revised, answered)] == ["ask.opened", "ask.revised", "ask.answered"]
    assert opened[2]["asked"]["question"] == "Streamed?" and answered[2]["answer"]["value"] == "yes"
    assert [one[:2] for one in again] == [revised[:2], answered[:2]]


@pytest.mark.requirement("ask:stream")
async def test_declined_and_cancelled_are_told_and_others_questions_are_not(house: Askers) -> None:
    async with reading(house, ANNA) as anna, reading(house, GENERAL) as general, reading(house, OPERATOR) as owner:
        not_hers = (await house.post("/v1/asks", {**SHIP, "question": "For Ben", "to": "ben"})).body["ask_id"]
        hers = (await house.post("/v1/asks", {**SHIP, "question": "For Anna", "to": "anna"}, GENERAL)).body["ask_id"]
        await house.answer(not_hers, {"declined": True}, BEN)
        await house.post(f"/v1/asks/{hers}/cancel", {}, GENERAL)
        seen = {name: [await one.next() for _ in range(2)] for name, one in (("anna", anna), ("general", general))}
        all_of_them = [(await owner.next())[0] for _ in range(4)]

    for told in seen.values():
        assert [(name, body["ask_id"]) for name, _, body in told] == [("ask.opened", hers), ("ask.cancelled", hers)]
    assert all_of_them == ["ask.opened", "ask.opened", "ask.declined", "ask.cancelled"]
