"""`notify_many` and `POST /v1/notifications:batch` on a living household: each message is judged by itself."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from postroom.domain.principal import Principal, Role
from tests.app.living import LIFTED, QUICK, Living, living
from tests.app.test_script_door import ON, post

BATCH = "/v1/notifications:batch"


@pytest.fixture
async def household(home: Path) -> AsyncIterator[Living]:
    async with living(home, QUICK, ON, LIFTED) as household:
        yield household


@pytest.mark.requirement("content:notify-many")
async def test_each_message_of_a_batch_is_judged_and_answered_by_itself(household: Living) -> None:
    items: list[Any] = [
        {"message": "One"},
        {"message": "Two", "chanel": "email"},
        {"message": "Three", "to": "4242"},
        "Four",
        {"message": "Five", "channel": "pigeon"},
        {"message": "Six", "wait_seconds": 3},
        {"message": "Seven"},
    ]
    status, answer, _ = await post(household, BATCH, {"notifications": items, "wait_seconds": 20})
    texts = await household.texts()

    results = answer["results"]
    assert status == 200 and [one["index"] for one in results] == list(range(7))
    assert [one["status"] for one in results] == ["ok", "error", "pending_approval", "error", "error", "error", "ok"]
    assert answer["counts"] == {"ok": 2, "error": 4, "pending_approval": 1}
    assert "did you mean 'channel'?" in results[1]["error"]
    assert texts == ["One", "Seven"]
    assert results[0].keys() - {"index"} == (await post(household, "/v1/notify", {"message": "alone"}))[1].keys()


@pytest.mark.requirement("content:notify-many")
async def test_a_recipient_that_is_no_text_is_refused_and_the_others_are_answered(household: Living) -> None:
    items = [{"message": "One"}, {"message": "Two", "to": "\ud800"}, {"message": "Three", "to": "a\0b"}]
    raw = json.dumps({"notifications": items, "wait_seconds": 20}).encode()
    status, answer, _ = await post(household, BATCH, None, raw=raw)
    alone, told, _ = await post(household, "/v1/notify", None, raw=json.dumps(items[1]).encode())

    assert status == 200 and [one["status"] for one in answer["results"]] == ["ok", "error", "error"]
    assert "recipient is not valid Unicode" in answer["results"][1]["error"].replace(":", "")
    assert (alone, told["status"]) == (400, "error")


@pytest.mark.requirement("content:notify-many")
async def test_a_butlers_tool_hands_in_many_and_a_key_sends_once(household: Living) -> None:
    items = [{"channel": "telegram", "message": f"m{one}", "idempotency_key": f"k{one}"} for one in range(30)]
    first = await household.call("health", "notify_many", {"notifications": items, "wait_seconds": 20})
    again = await household.call("health", "notify_many", {"notifications": items, "wait_seconds": 20})
    texts = await household.texts()

    assert first["counts"] == again["counts"] == {"ok": 30}
    assert texts == [f"m{one}" for one in range(30)]
    assert {row["origin_butler"] for row in household.rows("delivery_requests")} == {"health"}


async def test_a_key_for_the_batch_lets_the_whole_of_it_be_repeated(household: Living) -> None:
    body = {"notifications": [{"message": "a"}, {"message": "b", "idempotency_key": "own"}, {"message": "c"}]}
    first = await post(household, BATCH, body, **{"Idempotency-Key": "nightly"})
    again = await post(household, BATCH, body, **{"Idempotency-Key": "nightly"})
    await household.settled()

    ids = [[one["delivery"]["delivery_id"] for one in told[1]["results"]] for told in (first, again)]
    assert ids[0] == ids[1] and sorted(await household.texts()) == ["a", "b", "c"]
    keys = [row["idempotency_key"] for row in household.rows("delivery_requests")]
    assert len(set(keys)) == 3


@pytest.mark.parametrize(
    ("body", "words"),
    [
        pytest.param({}, "must be a list of messages", id="nothing"),
        pytest.param({"notifications": []}, "must be a list of messages", id="empty"),
        pytest.param({"notifications": [{"message": "x"}] * 501}, "at most 500 messages", id="too many"),
        pytest.param({"notifications": [{"message": "x"}], "wait_seconds": -1}, "wait_seconds", id="wait"),
        pytest.param({"messages": [{"message": "x"}]}, "notifications", id="another name"),
        pytest.param([{"message": "x"}], "must be an object", id="no object"),
    ],
)
async def test_a_batch_that_cannot_be_read_stores_nothing(household: Living, body: Any, words: str) -> None:
    status, answer, _ = await post(household, BATCH, body)

    assert (status, answer["status"]) == (400, "error") and words in answer["error"]
    assert household.rows("delivery_requests") == []


async def test_who_may_not_send_one_message_may_not_send_many(household: Living) -> None:
    ada = household.tokens.create(Principal(Role.USER, "ada"))
    body = {"notifications": [{"message": "x"}]}

    assert (await post(household, BATCH, body, token="nonsense"))[0] == 401
    assert (await post(household, BATCH, body, token=ada))[0] == 403
    assert household.rows("delivery_requests") == []
