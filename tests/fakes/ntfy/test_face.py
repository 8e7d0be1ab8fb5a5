"""The sandbox's ntfy server answers as ntfy documents it, and the person has a telephone there."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from tests.fakes.ntfy.face import KEEPALIVE_SECONDS
from tests.patience import PATIENCE_SECONDS
from tests.sandbox.client import Client
from tests.sandbox.hand_clock import START_US, HandClock

SECOND = START_US // 1_000_000
ANSWERS = "http://127.0.0.1:1/ntfy/answers"
CARD = {
    "topic": "anna",
    "message": "Ship it?",
    "actions": [
        {
            "action": "http",
            "label": "Yes",
            "url": "http://127.0.0.1:1/ntfy/answers",
            "body": "t0ken anna",
            "clear": True,
        },
        {"action": "view", "label": "Open", "url": "https://home.example/x"},
    ],
}


async def publish(client: Client, body: object = None, path: str = "/ntfy/", **more: Any) -> dict[str, Any]:
    given = {"json": body} if isinstance(body, dict) else {"data": body}
    async with client.http.post(path, **given, **more) as answer:
        return {"http_status": answer.status, **await answer.json()}


async def poll(client: Client, topic: str = "anna", **query: str) -> list[dict[str, Any]]:
    async with client.http.get(f"/ntfy/{topic}/json", params={"poll": "1"} | query) as answer:
        assert answer.status == 200
        assert answer.content_type == "application/x-ndjson"
        return [json.loads(line) for line in (await answer.text()).splitlines()]


async def test_a_message_in_json_is_answered_as_its_readers_get_it(client: Client) -> None:
    told = await publish(client, {"topic": "anna", "message": " Hi ", "title": "T", "priority": 4, "tags": ["a"]})

    assert told.pop("http_status") == 200
    assert told == {
        "id": "n00000000001",
        "time": SECOND,
        "expires": SECOND + 43_200,
        "event": "message",
        "topic": "anna",
        "message": "Hi",
        "title": "T",
        "priority": 4,
        "tags": ["a"],
    }
    assert await poll(client) == [told]


async def test_a_message_to_the_topic_takes_its_title_from_headers_and_its_sequence_from_the_path(
    client: Client,
) -> None:
    headers = {"Title": "T", "X-Priority": "high", "Tags": "a, b"}
    told = await publish(client, b"Hallo", "/ntfy/anna/download-1", headers=headers)

    assert (told["message"], told["title"], told["priority"], told["tags"], told["sequence_id"]) == (
        "Hallo",
        "T",
        4,
        ["a", "b"],
        "download-1",
    )
    assert (await publish(client, b"", "/ntfy/anna"))["message"] == "triggered"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"topic": "no topic!", "message": "x"}, 40009),
        ({"topic": "docs", "message": "x"}, 40010),
        ({"topic": "anna", "priority": 7}, 40007),
        ({"topic": "anna", "sequence_id": "no spaces"}, 40049),
        ({"topic": "anna", "actions": [{"action": "view", "label": "a", "url": "b"}] * 4}, 40018),
        ({"topic": "anna", "actions": [{"action": "http", "label": "a"}]}, 40018),
        (b"not json", 40024),
        (b'"' + b"a" * 8_190 + b'"', 41303),
    ],
)
async def test_what_ntfy_refuses_is_refused_in_its_numbers_and_nothing_is_kept(
    client: Client, body: Any, code: int
) -> None:
    told = await publish(client, body)

    assert (told["http_status"], told["code"], told["http"]) == (code // 100, code, code // 100)
    assert told["error"]
    assert (await client.get("/sandbox/ntfy/messages"))["count"] == 0


async def test_a_text_of_4096_bytes_becomes_a_file(client: Client) -> None:
    assert (await publish(client, {"topic": "anna", "message": "a" * 4095}))["message"] == "a" * 4095
    told = await publish(client, {"topic": "anna", "message": "a" * 4096})

    assert told["message"] == "You received a file: attachment.txt"
    assert told["attachment"]["size"] == 4096


async def test_a_token_or_none_is_let_in_and_another_is_not(client: Client) -> None:
    for header, status in (({}, 200), ({"Authorization": "Bearer tk_abc"}, 200), ({"Authorization": "Bearer x"}, 401)):
        assert (await publish(client, {"topic": "anna"}, headers=header))["http_status"] == status
    async with client.http.get("/ntfy/v1/account", headers={"Authorization": "Bearer tk_abc"}) as answer:
        assert (await answer.json())["limits"]["messages_expiry_duration"] == 43_200
    assert (await client.get("/ntfy/v1/health"))["healthy"] is True


async def test_a_topic_is_read_from_a_second_a_message_or_a_while_ago(client: Client, clock: HandClock) -> None:
    first = await publish(client, {"topic": "anna", "message": "1"})
    await clock.turn(60)
    await publish(client, {"topic": "anna", "message": "2"})
    await publish(client, {"topic": "ben", "message": "3"})

    async def read(topic: str = "anna", **query: str) -> list[str]:
        return [one["message"] for one in await poll(client, topic, **query)]

    assert await read() == await read(since="all") == await read(since=str(SECOND)) == ["1", "2"]
    assert await read(since=str(SECOND + 60)) == await read(since=first["id"]) == await read(since="30s") == ["2"]
    assert await read("anna,ben", since="latest") == ["2", "3"]
    assert (await client.get("/ntfy/anna/json", poll="1", since="soon"))["code"] == 40008
    await clock.turn(43_200)
    assert await read() == []


@pytest.fixture
async def stream(client: Client) -> AsyncIterator[aiohttp.StreamReader]:
    await publish(client, {"topic": "anna", "message": "before"})
    async with (
        asyncio.timeout(PATIENCE_SECONDS),
        client.http.get("/ntfy/anna/json", params={"since": "all"}) as response,
    ):
        yield response.content


async def next_event(stream: aiohttp.StreamReader) -> tuple[str, str | None]:
    told = json.loads(await stream.readline())
    return told["event"], told.get("message")


async def test_a_subscription_begins_with_what_was_kept_and_goes_on_with_what_comes(
    client: Client, clock: HandClock, stream: aiohttp.StreamReader
) -> None:
    assert [await next_event(stream) for _ in range(2)] == [("open", None), ("message", "before")]
    await publish(client, {"topic": "ben", "message": "for another"})
    await publish(client, {"topic": "anna", "message": "now"})
    assert await next_event(stream) == ("message", "now")
    await clock.someone_waits()
    await clock.turn(KEEPALIVE_SECONDS)
    assert await next_event(stream) == ("keepalive", None)


async def test_a_telephone_shows_the_last_message_of_a_sequence_and_readers_get_all(client: Client) -> None:
    for text in ("10 %", "90 %"):
        await publish(client, {"topic": "anna", "message": text, "sequence_id": "dl"})

    listed = (await client.get("/sandbox/ntfy/messages"))["messages"]
    assert [(one["text"], one["deleted"]) for one in listed] == [("10 %", True), ("90 %", False)]
    assert [one["message"] for one in await poll(client)] == ["10 %", "90 %"]


@pytest.mark.parametrize(
    ("verb", "path", "event"),
    [("PUT", "/ntfy/anna/dl/clear", "message_clear"), ("DELETE", "/ntfy/anna/dl", "message_delete")],
)
async def test_a_notification_can_be_taken_from_the_telephone(client: Client, verb: str, path: str, event: str) -> None:
    await publish(client, {"topic": "anna", "message": "10 %", "sequence_id": "dl"})
    async with client.http.request(verb, path) as answer:
        told = await answer.json()

    assert (told["event"], told["sequence_id"]) == (event, "dl")
    assert all(one["deleted"] for one in (await client.get("/sandbox/ntfy/messages"))["messages"])
    assert [one["event"] for one in await poll(client)] == ["message", event]


async def test_pressing_a_button_is_what_the_telephone_posts(client: Client) -> None:
    told = await publish(client, CARD)
    [listed] = (await client.get("/sandbox/ntfy/messages", topic="anna"))["messages"]
    assert [(one["label"], one["data"], one["url"]) for one in listed["buttons"]] == [
        ("Yes", "t0ken anna", None),
        ("Open", None, "https://home.example/x"),
    ]

    pressed = await client.post("/sandbox/ntfy/press", {"message_id": told["id"], "button": "Yes"})

    assert pressed["press"] == {"topic": "answers", "message_id": "n00000000002", "cleared": True}
    assert [one["message"] for one in await poll(client, "answers")] == ["t0ken anna"]
    link = await client.post("/sandbox/ntfy/press", {"message_id": told["id"], "button": "Open"})
    assert link["error"]["fields"][0]["code"] == "is_a_link"


async def test_a_button_for_another_server_is_not_pressed(client: Client) -> None:
    away = {"action": "http", "label": "Boom", "url": "https://elsewhere.example/x"}
    told = await publish(client, {"topic": "anna", "actions": [away]})

    assert (await client.post("/sandbox/ntfy/press", {"message_id": told["id"], "button": "Boom"}))[
        "http_status"
    ] == 422


async def test_a_person_publishes_too(client: Client) -> None:
    told = await client.post("/sandbox/ntfy/inbound", {"topic": "answers", "text": "hello", "from_id": "anna"})

    assert told["http_status"] == 200
    assert [one["message"] for one in await poll(client, "answers")] == ["hello"]
    assert (await client.post("/sandbox/ntfy/inbound", {"topic": "docs", "text": "x"}))["http_status"] == 422


@pytest.mark.parametrize(
    ("fault", "code", "header"),
    [
        ({"status": 429}, 42901, None),
        ({"status": 429, "retry_after": 7}, 42901, "7"),
        ({"status": 429, "retry_after": 86_400}, 42908, None),
        ({"status": 401}, 40101, None),
        ({"status": 403}, 40301, None),
        ({"status": 507}, 50701, None),
        ({"status": 503}, 50301, None),
    ],
)
async def test_faults_are_shown_as_ntfy_shows_them(
    client: Client, fault: dict[str, Any], code: int, header: str | None
) -> None:
    await client.arm(channel="ntfy", **fault)
    async with client.http.post("/ntfy/", json={"topic": "anna"}) as answer:
        told = await answer.json()

    assert (answer.status, told["code"], answer.headers.get("Retry-After")) == (code // 100, code, header)
    assert await poll(client) == []


async def test_a_connection_is_cut_before_or_after_the_message_is_kept(client: Client) -> None:
    for mode, kept in (("refuse", 0), ("accept_then_cut", 1)):
        await client.arm(channel="ntfy", mode=mode)
        with pytest.raises(aiohttp.ClientError):
            await publish(client, {"topic": "anna", "message": mode})
        assert len(await poll(client)) == kept
