"""The sandbox's Discord, asked by a plain HTTP client as Discord's documentation says."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sandbox.client import Client
from tests.sandbox.hand_clock import HandClock

AUTHORISED = {"Authorization": "Bot some.bot.token"}


async def ask(
    client: Client, method: str, path: str, body: Any = None, **headers: str
) -> tuple[int, dict[str, Any], Any]:
    given = AUTHORISED | headers
    async with client.http.request(method, f"/api/v10/{path}", json=body, headers=given) as answer:
        told = await answer.json() if answer.status != 204 else {}
        return answer.status, told, answer.headers


def button(**changes: Any) -> dict[str, Any]:
    return {"type": 2, "style": 1, "label": "Yes", "custom_id": "a"} | changes


def rows(*keys: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"type": 1, "components": list(keys)}]


async def test_a_message_is_kept_and_answered_as_discord_does(client: Client) -> None:
    body = {"content": "Hello", "nonce": "n1", "flags": 4, "components": rows(button())}
    status, told, headers = await ask(client, "POST", "channels/42/messages", body)

    assert status == 200
    assert (told["content"], told["channel_id"], told["nonce"], told["author"]["bot"]) == ("Hello", "42", "n1", True)
    assert int(told["id"]) >> 22 > 0
    assert {"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset-After", "X-RateLimit-Bucket"} <= set(
        headers
    )
    [kept] = (await client.get("/sandbox/discord/messages"))["messages"]
    assert (kept["text"], kept["message_id"]) == ("Hello", told["id"])
    assert kept["buttons"] == [{"label": "Yes", "data": "a", "url": None}]


async def test_a_nonce_makes_one_message_for_five_minutes_when_it_is_enforced(client: Client, clock: HandClock) -> None:
    body = {"content": "Hello", "nonce": "n1", "enforce_nonce": True}
    first = (await ask(client, "POST", "channels/42/messages", body))[1]
    again = (await ask(client, "POST", "channels/42/messages", body | {"content": "other"}))[1]
    free = (await ask(client, "POST", "channels/42/messages", body | {"enforce_nonce": False}))[1]
    await clock.turn(301)
    later = (await ask(client, "POST", "channels/42/messages", body))[1]

    assert (again["id"], again["content"]) == (first["id"], "Hello")
    assert len({first["id"], free["id"], later["id"]}) == 3


async def test_a_deleted_messages_nonce_is_not_used_for_another(client: Client) -> None:
    body = {"content": "Hello", "nonce": "n1", "enforce_nonce": True}
    sent = (await ask(client, "POST", "channels/42/messages", body))[1]
    assert (await ask(client, "DELETE", f"channels/42/messages/{sent['id']}"))[0] == 204

    status, told, _ = await ask(client, "POST", "channels/42/messages", body)
    assert (status, told["code"]) == (404, 10008)


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        ({}, 50006, None),
        ({"content": "  "}, 50006, None),
        ({"content": "x" * 2001}, 50035, "content"),
        ({"content": 5}, 50035, "content"),
        ({"content": "x", "nonce": "n" * 26}, 50035, "nonce"),
        ({"content": "x", "nonce": []}, 50035, "nonce"),
        ({"content": "x", "components": [{}] * 6}, 50035, "components"),
        ({"content": "x", "components": rows(*[button()] * 6)}, 50035, "components"),
        ({"content": "x", "components": rows(button(), button())}, 50035, "components"),
        ({"content": "x", "components": rows(button(label="l" * 81))}, 50035, "components"),
        ({"content": "x", "components": rows(button(custom_id="c" * 101))}, 50035, "components"),
        ({"content": "x", "components": rows(button(style=5, url="ftp://x"))}, 50035, "components"),
        ({"content": "x", "components": rows(button(type=9))}, 50035, "components"),
        ({"content": "x", "message_reference": {"message_id": "1"}}, 50035, "message_reference"),
        ([], 50035, None),
    ],
)
async def test_what_discord_would_refuse_is_refused(client: Client, body: Any, code: int, field: str | None) -> None:
    status, told, _ = await ask(client, "POST", "channels/42/messages", body)

    assert (status, told["code"]) == (400, code)
    assert list(told.get("errors", [])) == ([field] if field else [])
    assert (await client.get("/sandbox/discord/messages"))["count"] == 0


@pytest.mark.parametrize("header", ["", "Bot", "Bot ", "Bearer x", "Bot revoked", "Bot a b"])
async def test_without_a_token_nothing_is_answered(client: Client, header: str) -> None:
    for method, path in (("GET", "users/@me"), ("POST", "channels/42/messages"), ("GET", "gateway/bot")):
        status, told, _ = await ask(client, method, path, {"content": "x"}, Authorization=header)
        assert (status, told["message"]) == (401, "401: Unauthorized")


async def test_a_message_of_a_person_cannot_be_edited_and_one_elsewhere_is_unknown(client: Client) -> None:
    wrote = await client.post("/sandbox/discord/inbound", {"channel_id": "42", "text": "Hi"})
    number = wrote["message_id"]

    assert (await ask(client, "PATCH", f"channels/42/messages/{number}", {"content": "x"}))[1]["code"] == 50005
    assert (await ask(client, "PATCH", f"channels/43/messages/{number}", {"content": "x"}))[1]["code"] == 10008
    assert (await ask(client, "PUT", f"channels/42/messages/{number}/reactions/abc/@me"))[1]["code"] == 10014
    assert (await ask(client, "PUT", f"channels/42/messages/{number}/reactions/👍/@me"))[0] == 204
    [kept] = (await client.get("/sandbox/discord/inbound"))["messages"]
    assert kept["reactions"] == ["👍"]
    assert (await ask(client, "DELETE", f"channels/42/messages/{number}/reactions/👍/@me"))[0] == 204


async def test_a_person_has_one_direct_channel(client: Client) -> None:
    first = (await ask(client, "POST", "users/@me/channels", {"recipient_id": "7"}))[1]
    again = (await ask(client, "POST", "users/@me/channels", {"recipient_id": 7}))[1]

    assert first == again and first["type"] == 1
    assert (await ask(client, "POST", "users/@me/channels", {"recipient_id": "x"}))[1]["code"] == 50033


async def test_a_fault_with_a_wait_has_discords_shape(client: Client) -> None:
    await client.arm(channel="discord", status=429, retry_after=3)
    status, told, headers = await ask(client, "POST", "channels/42/messages", {"content": "x"})

    assert (status, told["retry_after"], told["global"]) == (429, 3, False)
    assert (headers["Retry-After"], headers["X-RateLimit-Scope"]) == ("3", "user")


async def test_more_than_fifty_requests_a_second_are_too_many(client: Client, clock: HandClock) -> None:
    seen = [(await ask(client, "GET", "users/@me"))[0] for _ in range(50)]
    status, told, headers = await ask(client, "GET", "users/@me")
    await clock.turn(1)

    assert set(seen) == {200}
    assert (status, told["global"], headers["X-RateLimit-Global"]) == (429, True, "true")
    assert (await ask(client, "GET", "users/@me"))[0] == 200


async def test_an_unknown_route_and_broken_json_are_refused_in_discords_words(client: Client) -> None:
    assert (await ask(client, "GET", "nowhere"))[:2] == (404, {"message": "404: Not Found", "code": 0})
    headers = AUTHORISED | {"Content-Type": "application/json"}
    async with client.http.post("/api/v10/channels/42/messages", data=b"{", headers=headers) as answer:
        assert (await answer.json())["code"] == 50109
    async with client.http.post("/api/v10/channels/42/messages", data=b"x", headers=AUTHORISED) as answer:
        assert (await answer.json())["code"] == 50035
