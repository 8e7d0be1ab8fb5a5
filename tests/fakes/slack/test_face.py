"""Slack's own rules, as a client of Slack meets them in the sandbox."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from tests.patience import PATIENCE_SECONDS
from tests.sandbox.client import Client
from tests.sandbox.hand_clock import HandClock

BOT = {"Authorization": "Bearer xoxb-1"}
APP = {"Authorization": "Bearer xapp-1"}
BUTTON = {"type": "button", "text": {"type": "plain_text", "text": "Yes"}, "action_id": "a", "value": "q1"}
MARK = {"event_type": "mine", "event_payload": {"id": "1"}}


async def slack(client: Client, method: str, headers: dict[str, str] | None = None, **body: Any) -> dict[str, Any]:
    async with client.http.post(f"/api/{method}", json=body, headers=BOT if headers is None else headers) as answer:
        return {"http_status": answer.status, "http_headers": answer.headers, **await answer.json()}


async def posted(client: Client, **body: Any) -> str:
    answer = await slack(client, "chat.postMessage", **({"channel": "C1", "text": "Hello"} | body))
    assert answer["ok"], answer
    return str(answer["ts"])


async def listing(client: Client, method: str = "conversations.history", **query: Any) -> dict[str, Any]:
    async with client.http.get(f"/api/{method}", params={"channel": "C1"} | query, headers=BOT) as answer:
        told: dict[str, Any] = await answer.json()
        return told


@asynccontextmanager
async def socket(client: Client) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    url = (await slack(client, "apps.connections.open", APP))["url"]
    async with client.http.ws_connect(url) as socket:
        assert (await received(socket))["type"] == "hello"
        yield socket


async def received(socket: aiohttp.ClientWebSocketResponse) -> dict[str, Any]:
    frame: dict[str, Any] = await socket.receive_json(timeout=10)
    return frame


@pytest.mark.parametrize(
    ("method", "headers", "error"),
    [
        ("auth.test", {}, "not_authed"),
        ("auth.test", {"Authorization": "Bearer nonsense"}, "invalid_auth"),
        ("auth.test", APP, "not_allowed_token_type"),
        ("apps.connections.open", BOT, "not_allowed_token_type"),
        ("nothing.of.that.name", BOT, "unknown_method"),
    ],
)
async def test_a_refusal_comes_with_a_200(client: Client, method: str, headers: dict[str, str], error: str) -> None:
    answer = await slack(client, method, headers)

    assert (answer["http_status"], answer["ok"], answer["error"]) == (200, False, error)


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"channel": "CARCHIVED"}, "is_archived"),
        ({"channel": "CNOTIN"}, "not_in_channel"),
        ({"channel": "general"}, "channel_not_found"),
        ({"text": ""}, "no_text"),
        ({"blocks": "nonsense"}, "invalid_blocks_format"),
        ({"blocks": [{"type": "section", "text": {"type": "plain_text", "text": "x" * 3001}}]}, "invalid_blocks"),
        ({"blocks": [{"type": "actions", "elements": []}]}, "invalid_blocks"),
        ({"blocks": [{"type": "actions", "elements": [BUTTON, BUTTON]}]}, "invalid_blocks"),
        ({"blocks": [{"type": "actions", "elements": [BUTTON | {"style": "green"}]}]}, "invalid_blocks"),
        (
            {"blocks": [{"type": "section", "text": {"type": "plain_text", "text": "x" * 3000}}] * 5},
            "msg_blocks_too_long",
        ),
        ({"metadata": {"event_payload": {}}}, "invalid_metadata_format"),
        ({"metadata": {"event_type": "x", "event_payload": 1}}, "invalid_metadata_schema"),
    ],
)
async def test_what_slack_does_not_take_is_not_kept(client: Client, body: dict[str, Any], error: str) -> None:
    answer = await slack(client, "chat.postMessage", **({"channel": "C1", "text": "Hello"} | body))

    assert answer["error"] == error
    assert (await client.get("/sandbox/slack/messages"))["count"] == 0


async def test_a_person_is_written_to_in_a_direct_message(client: Client) -> None:
    opened = await slack(client, "conversations.open", users="U7")
    answer = await slack(client, "chat.postMessage", channel="U7", text="Hi")

    assert answer["channel"] == opened["channel"]["id"] == "D7"
    assert (await slack(client, "conversations.open", users="nobody"))["error"] == "user_not_found"


async def test_history_is_newest_first_without_threads_and_shows_metadata_only_when_asked(client: Client) -> None:
    first = await posted(client, text="One", metadata=MARK)
    await posted(client, text="In a thread", thread_ts=first)
    second = await posted(client, text="Two")

    plain, whole = await listing(client), await listing(client, include_all_metadata="true")
    assert [one["ts"] for one in plain["messages"]] == [second, first]
    assert [one.get("metadata") for one in plain["messages"]] == [None, None]
    assert whole["messages"][1]["metadata"] == MARK
    thread = await listing(client, "conversations.replies", ts=first)
    assert [one["text"] for one in thread["messages"]] == ["One", "In a thread"]
    assert (await listing(client, "conversations.replies", ts="1.1"))["error"] == "thread_not_found"


async def test_history_has_pages_and_ends(client: Client) -> None:
    stamps = [await posted(client, text=str(number)) for number in range(5)]

    found, cursor = [], ""
    while True:
        page = await listing(client, limit=2, **({"cursor": cursor} if cursor else {}))
        found += [one["ts"] for one in page["messages"]]
        if not page["has_more"]:
            break
        cursor = page["response_metadata"]["next_cursor"]
    after = await listing(client, oldest=stamps[2])
    within = await listing(client, oldest=stamps[2], latest=stamps[3], inclusive="true")

    assert found == stamps[::-1]
    assert [one["ts"] for one in after["messages"]] == stamps[:2:-1]
    assert [one["ts"] for one in within["messages"]] == [stamps[3], stamps[2]]


async def test_an_edit_replaces_what_it_gives_and_a_new_text_takes_old_blocks_away(client: Client) -> None:
    blocks = [
        {"type": "section", "text": {"type": "plain_text", "text": "Ship?"}},
        {"type": "actions", "elements": [BUTTON]},
    ]
    stamp = await posted(client, text="Ship?", blocks=blocks, metadata=MARK)
    await slack(client, "chat.update", channel="C1", ts=stamp, blocks=blocks[:1])
    await slack(client, "chat.update", channel="C1", ts=stamp, text="Closed")
    [kept] = (await client.get("/sandbox/slack/messages"))["messages"]

    assert (kept["text"], kept["earlier_texts"], kept["buttons"], kept["body"]["metadata"]) == (
        "Closed",
        ["Ship?"],
        [],
        MARK,
    )
    assert (await slack(client, "chat.update", channel="C1", ts="1.1", text="x"))["error"] == "message_not_found"
    typed = (await client.post("/sandbox/slack/inbound", {"place": "C1", "from_id": "U1", "text": "Mine"}))[
        "message_id"
    ]
    assert (await slack(client, "chat.update", channel="C1", ts=typed, text="x"))["error"] == "cant_update_message"


async def test_a_deleted_message_is_gone(client: Client) -> None:
    stamp = await posted(client)

    assert (await slack(client, "chat.delete", channel="C1", ts=stamp))["ok"]
    assert (await slack(client, "chat.delete", channel="C1", ts=stamp))["error"] == "message_not_found"
    assert (await listing(client))["messages"] == []


async def test_a_reaction_is_set_once_and_taken_back_once(client: Client) -> None:
    named = {"channel": "C1", "timestamp": await posted(client), "name": "tada"}
    answers = [
        (await slack(client, method, **named)).get("error")
        for method in ("reactions.add", "reactions.add", "reactions.remove", "reactions.remove")
    ]

    assert answers == [None, "already_reacted", None, "no_reaction"]
    assert (await slack(client, "reactions.add", **named | {"name": "Not A Name"}))["error"] == "invalid_name"


async def test_a_word_aside_is_seen_by_the_person_and_in_no_history(client: Client) -> None:
    answer = await slack(client, "chat.postEphemeral", channel="C1", user="U1", text="Psst")

    assert answer["message_ts"]
    assert (await listing(client))["messages"] == []
    [kept] = (await client.get("/sandbox/slack/messages"))["messages"]
    assert (kept["text"], kept["body"]["ephemeral_to"]) == ("Psst", "U1")


async def test_a_429_says_how_long_to_wait(client: Client) -> None:
    await client.arm(channel="slack", status=429, retry_after=30)
    answer = await slack(client, "chat.postMessage", channel="C1", text="Hello")

    assert (answer["http_status"], answer["error"], answer["http_headers"]["Retry-After"]) == (429, "ratelimited", "30")
    assert (await slack(client, "auth.test"))["ok"]


async def test_an_event_is_sent_again_until_it_is_acknowledged(client: Client, clock: HandClock) -> None:
    async with socket(client) as app:
        await client.post("/sandbox/slack/inbound", {"place": "U7", "text": "Yes & no"})
        first = await received(app)
        await clock.someone_waits()
        await clock.turn(3)
        again = await received(app)
        await app.send_json({"envelope_id": again["envelope_id"]})
        await client.post("/sandbox/slack/inbound", {"place": "U7", "text": "Next"})
        following = await received(app)

    event = first["payload"]["event"]
    assert (event["text"], event["channel"], event["channel_type"], event["user"]) == ("Yes &amp; no", "D7", "im", "U7")
    assert (first["retry_attempt"], again["retry_attempt"]) == (0, 1)
    assert first["payload"]["event_id"] == again["payload"]["event_id"]
    assert following["payload"]["event"]["text"] == "Next"


async def test_what_one_connection_did_not_acknowledge_goes_to_the_next(client: Client) -> None:
    async with socket(client) as app:
        await client.post("/sandbox/slack/inbound", {"place": "U7", "text": "Yes"})
        first = await received(app)
    async with socket(client) as app:
        again = await received(app)

    assert first["payload"] == again["payload"]


async def test_an_event_is_given_up_after_three_more_attempts(client: Client, clock: HandClock) -> None:
    async with socket(client) as app:
        await client.post("/sandbox/slack/inbound", {"place": "U7", "text": "Yes"})
        attempts = [(await received(app))["retry_attempt"]]
        for pause in (3, 60, 300):
            await clock.someone_waits()
            await clock.turn(pause)
            attempts.append((await received(app))["retry_attempt"])
        await clock.someone_waits()
        await clock.turn(3600)
        await client.post("/sandbox/slack/inbound", {"place": "U7", "text": "Next"})
        following = await received(app)

    assert attempts == [0, 1, 2, 3]
    assert following["payload"]["event"]["text"] == "Next"


async def test_a_press_is_for_the_moment(client: Client, clock: HandClock) -> None:
    card = {"message_id": await posted(client, blocks=[{"type": "actions", "elements": [BUTTON]}]), "button": "Yes"}
    early = await client.post("/sandbox/slack/press", card | {"from_id": "U1"})
    await clock.turn(4)
    async with socket(client) as app:
        late = await client.post("/sandbox/slack/press", card | {"from_id": "U2"})
        press = await received(app)

    assert (early["press"]["is_listened_to"], late["press"]["is_listened_to"]) == (False, True)
    payload = press["payload"]
    assert (press["type"], payload["user"]["id"], payload["channel"]["id"]) == ("interactive", "U2", "C1")
    assert (payload["actions"][0]["value"], payload["container"]["message_ts"]) == ("q1", card["message_id"])


async def test_nobody_can_do_what_nobody_could(client: Client) -> None:
    stamp = await posted(client, channel="U7", blocks=[{"type": "actions", "elements": [BUTTON]}])
    wrong = [
        ("inbound", {"place": "C1", "text": "Who?"}),
        ("inbound", {"place": "general", "text": "Where?", "from_id": "U1"}),
        ("inbound", {"place": "C1", "text": "x", "from_id": "ada"}),
        ("inbound", {"place": "C1", "text": "x", "from_id": "U1", "reply_to_message_id": "1.1"}),
        ("press", {"message_id": stamp, "button": "Yes", "from_id": "U8"}),
        ("press", {"message_id": stamp, "button": "Maybe"}),
    ]

    assert [(await client.post(f"/sandbox/slack/{path}", body))["http_status"] for path, body in wrong] == [422] * 6


async def test_a_ticket_is_good_for_one_connection(client: Client) -> None:
    url = (await slack(client, "apps.connections.open", APP))["url"]
    async with client.http.ws_connect(url):
        with pytest.raises(aiohttp.WSServerHandshakeError, match="401"):
            await client.http.ws_connect(url)


async def test_a_sandbox_that_stops_says_goodbye(client: Client) -> None:
    async with socket(client) as app, asyncio.timeout(PATIENCE_SECONDS):
        stopping = asyncio.create_task(client.sandbox.stop())
        assert (await app.receive()).type in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED)
        await stopping
