from __future__ import annotations

import json
from typing import Any

import pytest
from tests.sandbox.client import Client, letter


async def send(client: Client, text: str, chat_id: object = 42) -> int:
    return int((await client.bot("sendMessage", chat_id=chat_id, text=text))["result"]["message_id"])


async def test_messages_can_be_listed_by_chat_and_by_page(client: Client) -> None:
    for number in range(4):
        await send(client, f"text {number}", chat_id=number % 2 + 1)

    async def texts(**query: object) -> list[str]:
        return [item["text"] for item in (await client.get("/sandbox/telegram/messages", **query))["messages"]]

    assert await texts(chat_id="2") == ["text 1", "text 3"]
    assert await texts(limit=3) == ["text 1", "text 2", "text 3"]
    assert await texts(since=1, limit=2) == ["text 1", "text 2"]
    assert await texts(since=4) == []


async def test_a_page_says_how_many_there_are_in_all(client: Client) -> None:
    for number in range(3):
        await send(client, f"text {number}")

    listed = await client.get("/sandbox/telegram/messages", limit=2)

    assert (listed["count"], listed["total"]) == (2, 3)


@pytest.mark.parametrize(
    ("query", "wrong"),
    [
        ({"since": "yesterday"}, ["since"]),
        ({"limit": "0"}, ["limit"]),
        ({"since": "-1", "limit": "x"}, ["since", "limit"]),
    ],
)
async def test_a_wrong_page_is_refused_with_its_fields(client: Client, query: dict[str, str], wrong: list[str]) -> None:
    answer = await client.get("/sandbox/email/messages", **query)

    assert answer["http_status"] == 422
    assert [item["field"] for item in answer["error"]["fields"]] == wrong


async def test_what_the_person_typed_is_listed_apart_from_what_the_bot_sent(client: Client) -> None:
    await send(client, "from the bot")
    await client.post("/sandbox/telegram/inbound", {"chat_id": "42", "text": "from the person", "from_name": "Ada"})

    typed = (await client.get("/sandbox/telegram/inbound"))["messages"]

    assert await client.texts() == ["from the bot"]
    assert [(item["text"], item["from_name"], item["chat_id"]) for item in typed] == [("from the person", "Ada", "42")]


async def test_a_mail_the_person_wrote_is_kept_and_can_be_answered(client: Client) -> None:
    written = {
        "from": "ada@example.com",
        "to": "bot@example.com",
        "subject": "Re: Hi",
        "body": "Yes.",
        "in_reply_to": "<d1@x>",
    }

    answer = await client.post("/sandbox/email/inbound", written)

    listed = (await client.get("/sandbox/email/inbound"))["messages"]
    assert [{name: item[name] for name in written} for item in listed] == [written]
    assert listed[0]["message_id"] == answer["message_id"] == "<inbound-1@sandbox.invalid>"
    assert await client.mails() == []


@pytest.mark.requirement("house:sandbox-mail")
async def test_a_mail_is_kept_with_the_headers_it_came_with(client: Client) -> None:
    headers = {"Auto-Submitted": "auto-replied", "Authentication-Results": "mx.example; dkim=pass"}
    written = {"from": "ada@example.com", "to": "bot@example.com", "subject": "Re: Hi", "body": "Away."}

    await client.post("/sandbox/email/inbound", {**written, "headers": headers})

    [listed] = (await client.get("/sandbox/email/inbound"))["messages"]
    assert listed["headers"] == headers


CARD = {"inline_keyboard": [[{"text": "Ship", "callback_data": "q1:ship"}], [{"text": "Open", "url": "https://a.org"}]]}
NOBODY = {"from_id": "Ada", "from_is_bot": "yes", "forwarded": 1, "sender_chat_id": "x", "via_bot": []}
MAIL = {"from": "ada@example.com", "to": "bot@example.com", "body": "x"}
WRONG_HEADERS: list[Any] = [
    *([], {"A": 1}, {"A": "b\nc"}, {"A:": "b"}, {"A b": "c"}, {"": "x"}),
    {str(number): "x" for number in range(51)},
]
WRONG: list[tuple[str, Any, set[str]]] = [
    ("telegram/inbound", {}, {"chat_id", "text"}),
    ("telegram/inbound", {"chat_id": "Ada", "text": " ", "x": 1}, {"chat_id", "text", "x"}),
    ("telegram/inbound", {"chat_id": 1, "text": "😀" * 2049}, {"text"}),
    ("telegram/inbound", {"chat_id": 1, "text": "x", "reply_to_message_id": 9}, {"reply_to_message_id"}),
    ("telegram/inbound", {"chat_id": 1, "text": "x", **NOBODY}, set(NOBODY)),
    ("telegram/reaction", {"chat_id": 1, "message_id": 9, "emoji": "👍"}, {"message_id"}),
    ("telegram/reaction", {"chat_id": 1, "emoji": "no"}, {"message_id", "emoji"}),
    ("telegram/callback", {"chat_id": 1, "message_id": 9, "data": "x"}, {"message_id"}),
    ("telegram/press", {}, {"message_id", "button"}),
    ("telegram/press", {"message_id": 99, "button": "Ship"}, {"message_id"}),
    ("telegram/press", {"message_id": 1, "button": "Maybe"}, {"button"}),
    ("telegram/press", {"message_id": 1, "button": "Open"}, {"button"}),
    ("telegram/press", {"message_id": 1, "button": "Ship", "from_id": "A", "chat_id": 4}, {"from_id", "chat_id"}),
    *(("telegram/away", {"seconds": one}, {"seconds"}) for one in (None, 0, -1, "150", True, 10**9)),
    ("email/inbound", {"subject": "a\nb"}, {"from", "to", "subject", "body"}),
    *(("email/inbound", {**MAIL, "headers": one}, {"headers"}) for one in WRONG_HEADERS),
]


@pytest.mark.requirement("house:sandbox-press")
async def test_every_wrong_field_is_named_and_nothing_is_done(client: Client) -> None:
    await client.bot("sendMessage", chat_id=42, text="Ship it?", reply_markup=CARD)

    for path, body, wrong in WRONG:
        answer = await client.post(f"/sandbox/{path}", body)

        refused = (answer["http_status"], answer["sandbox"], answer["error"]["class"])
        assert refused == (422, True, "validation_error"), (path, body)
        assert {item["field"] for item in answer["error"]["fields"]} == wrong, (path, body)
    assert (await client.bot("getUpdates"))["result"] == []
    assert (await client.get("/sandbox/email/inbound"))["messages"] == []


@pytest.mark.parametrize("body", [b"", b"{", b"[" * 50_000], ids=["empty", "cut", "deep"])
async def test_a_body_that_is_no_json_is_refused(client: Client, body: bytes) -> None:
    async with client.http.post("/sandbox/faults", data=body) as answer:
        assert (answer.status, (await answer.json())["error"]["fields"][0]["code"]) == (422, "json_required")


async def test_a_clear_forgets_everything_and_ids_keep_counting(client: Client) -> None:
    sent = await send(client, "Hello")
    await client.bot("setMessageReaction", chat_id=42, message_id=sent, reaction=[{"type": "emoji", "emoji": "👍"}])
    typed = await client.post("/sandbox/telegram/inbound", {"chat_id": 42, "text": "Hi"})
    await client.mail(letter())

    assert (await client.delete("/sandbox/messages"))["cleared"] is True

    for path in ("telegram/messages", "telegram/reactions", "telegram/inbound", "email/messages", "email/inbound"):
        assert (await client.get(f"/sandbox/{path}"))["count"] == 0
    assert (await client.bot("getUpdates"))["result"] == []
    assert await send(client, "again") > typed["message_id"]


HOSTILE = [
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    "*bold* _it_ [link](tg://user?id=1) `code`",
    "'; drop table telegram_messages; --",
    "line\r\nBcc: eve@evil.example\t\u202eRTL\u200b\ufeff e\u0301 😀",
    "{{7*7}} ${7*7} %s %00 \\u0000 &amp; &lt;",
]


@pytest.mark.parametrize("text", HOSTILE)
async def test_hostile_text_is_listed_as_it_came_and_escaped_on_the_page(client: Client, text: str) -> None:
    await send(client, text)
    await client.mail(letter(subject=" ".join(text.split()), body=text.replace("\r\n", "\n")))
    await client.post("/sandbox/telegram/inbound", {"chat_id": 42, "text": text, "from_name": text[:60]})

    async with client.http.get("/sandbox/") as answer:
        page = await answer.text()

    assert await client.texts() == [text]
    assert [mail["body"] for mail in await client.mails()] == [text.replace("\r\n", "\n")]
    assert [item["text"] for item in (await client.get("/sandbox/telegram/inbound"))["messages"]] == [text]
    assert page.count("<script") == 1 and "<img" not in page  # its own


async def test_health_answers(client: Client) -> None:
    assert await client.get("/health") == {"http_status": 200, "sandbox": True, "status": "ok", "armed_faults": 0}


@pytest.mark.parametrize(("verb", "path", "status"), [("GET", "/nowhere", 404), ("PUT", "/sandbox/faults", 405)])
async def test_the_frameworks_own_refusals_are_json(client: Client, verb: str, path: str, status: int) -> None:
    async with client.http.request(verb, path) as answer:
        assert (answer.status, (await answer.json())["sandbox"]) == (status, True)


ELSEWHERE = ({"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Origin": "null"})


@pytest.mark.parametrize(
    "headers", [*ELSEWHERE, {"Sec-Fetch-Site": "cross-site"}], ids=["host", "origin", "null", "site"]
)
async def test_other_sites_reach_nothing(client: Client, headers: dict[str, str]) -> None:
    await send(client, "still here")

    for verb, path in (
        ("GET", "/bot40290:sandbox/sendMessage?chat_id=42&text=x"),
        ("POST", "/bot40290:sandbox/sendMessage?chat_id=42&text=x"),
        ("GET", "/sandbox/telegram/messages"),
        ("POST", "/sandbox/faults"),
        ("DELETE", "/sandbox/messages"),
        ("GET", "/health"),
        ("GET", "/nowhere"),
    ):
        async with client.http.request(verb, path, headers=headers) as answer:
            assert answer.status == 403, (verb, path)
    assert await client.texts() == ["still here"]


async def test_a_compressed_body_is_never_unpacked(client: Client) -> None:
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    body = json.dumps({"channel": "telegram", "status": 500}).encode()

    async with client.http.post("/sandbox/faults", data=b"\x1f\x8b" + body, headers=headers) as answer:
        assert answer.status == 422
