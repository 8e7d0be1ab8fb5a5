from __future__ import annotations

import asyncio
import io
from typing import Any

import pytest
from tests.patience import PATIENCE_SECONDS
from tests.sandbox.client import Client
from tests.sandbox.conftest import Start
from tests.sandbox.hand_clock import HandClock

from postroom.sandbox.telegram import looks_like_emoji


async def send(client: Client, text: str = "Hello") -> dict[str, object]:
    return await client.bot("sendMessage", chat_id=42, text=text)


async def test_get_me_says_that_this_is_a_sandbox(client: Client) -> None:
    answer = await client.bot("getMe")

    assert answer["result"]["id"] == 40290
    assert "SANDBOX" in answer["result"]["first_name"]
    assert answer["http_headers"]["X-Postroom-Sandbox"] == "nothing leaves this machine"


async def test_method_names_are_read_in_any_case(client: Client) -> None:
    assert (await client.bot("SENDMESSAGE", chat_id=1, text="x"))["ok"]


@pytest.mark.parametrize("token", ["nonsense", ":x", "1:", "1:a b", "1:%2e%2e", "x1:abc"])
async def test_a_token_that_is_none_is_unauthorized(client: Client, token: str) -> None:
    answer = await client.bot("getMe", token=token)

    assert (answer["http_status"], answer["error_code"], answer["description"]) == (401, 401, "Unauthorized")


async def test_a_configured_token_is_the_only_one(start: Start) -> None:
    client = await start(token="7:mine")

    assert (await client.bot("getMe", token="7:mine"))["result"]["id"] == 7
    assert (await client.bot("getMe", token="8:other"))["http_status"] == 401


@pytest.mark.parametrize("method", ["deleteEverything", "setWebhook", "getWebhookInfo"])
async def test_an_unknown_method_is_not_found(client: Client, method: str) -> None:
    answer = await client.bot(method)

    assert (answer["http_status"], answer["ok"], answer["error_code"]) == (404, False, 404)


@pytest.mark.parametrize("body", [b"{", b"[]", b"[" * 50_000, b"\xff"], ids=["cut", "list", "deep", "bytes"])
async def test_a_body_that_is_no_json_object_is_a_bad_request(client: Client, body: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    async with client.http.post("/bot1:a/sendMessage", data=body, headers=headers) as answer:
        assert (answer.status, (await answer.json())["ok"]) == (400, False)


async def test_a_body_past_the_limit_is_refused(client: Client) -> None:
    body = io.BytesIO(b'{"chat_id": 42, "text": "' + b"x" * 1_100_000 + b'"}')

    async with client.http.post("/bot1:a/sendMessage", data=body) as answer:
        assert (answer.status, (await answer.json())["error_code"]) == (413, 413)


async def test_two_hundred_messages_at_once_get_ids_of_their_own(client: Client) -> None:
    answers = await asyncio.gather(*(send(client, f"text {number}") for number in range(200)))

    ids = {answer["result"]["message_id"]: answer["result"]["text"] for answer in answers}
    listed = (await client.get("/sandbox/telegram/messages"))["messages"]
    assert len(ids) == 200
    assert {item["message_id"]: item["text"] for item in listed} == ids


# ---- updates


async def type_text(client: Client, text: str) -> None:
    assert (await client.post("/sandbox/telegram/inbound", {"chat_id": 42, "text": text}))["http_status"] == 200


async def update_texts(client: Client, **arguments: object) -> list[str]:
    return [update["message"]["text"] for update in (await client.bot("getUpdates", **arguments))["result"]]


async def test_updates_repeat_until_their_offset_confirms_them(client: Client) -> None:
    for text in ("one", "two", "three"):
        await type_text(client, text)

    assert await update_texts(client) == ["one", "two", "three"]
    assert await update_texts(client, limit=2) == ["one", "two"]
    assert await update_texts(client, offset=3) == ["three"]
    assert await update_texts(client) == ["three"]
    assert await update_texts(client, offset=4) == []


async def test_a_negative_offset_keeps_only_the_newest(client: Client) -> None:
    for text in ("one", "two", "three"):
        await type_text(client, text)

    assert await update_texts(client, offset=-1) == ["three"]
    assert await update_texts(client) == ["three"]


async def test_an_update_has_the_shape_a_bot_expects(client: Client) -> None:
    sent = (await send(client))["result"]["message_id"]
    await client.post(
        "/sandbox/telegram/inbound", {"chat_id": 42, "text": "Yes", "reply_to_message_id": sent, "from_name": "Ada"}
    )

    update = (await client.bot("getUpdates"))["result"][0]

    assert update["update_id"] == 1
    assert update["message"]["from"] == {"id": 42, "is_bot": False, "first_name": "Ada"}
    assert update["message"]["reply_to_message"]["message_id"] == sent


@pytest.mark.requirement("house:sandbox-inbound")
async def test_an_update_says_who_wrote_and_how_it_came(client: Client) -> None:
    typed = {
        "chat_id": -5,
        "text": "Yes",
        "from_id": "2001",
        "from_is_bot": True,
        "forwarded": True,
        "sender_chat_id": -5,
        "via_bot": True,
    }
    await client.post("/sandbox/telegram/inbound", {"chat_id": -5, "text": "Plain", "from_id": 2001})
    await client.post("/sandbox/telegram/inbound", typed)

    plain, odd = [one["message"] for one in (await client.bot("getUpdates"))["result"]]

    assert (plain["from"]["id"], plain["from"]["is_bot"], plain["chat"]["type"]) == (2001, False, "group")
    assert not {"forward_origin", "sender_chat", "via_bot"} & plain.keys()
    assert (odd["from"]["id"], odd["from"]["is_bot"], odd["sender_chat"]["id"]) == (2001, True, -5)
    assert odd["forward_origin"]["type"] == "hidden_user" and odd["via_bot"]["is_bot"]


@pytest.mark.requirement("house:sandbox-inbound")
async def test_members_of_a_group_are_told_apart_and_replies_name_what_they_answer(client: Client) -> None:
    sent = (await client.bot("sendMessage", chat_id="-100", text="Who comes?"))["result"]["message_id"]
    for member, text in (("2001", "I"), (2002, "Not I")):
        typed = {"chat_id": "-100", "text": text, "from_id": member, "reply_to_message_id": str(sent)}
        assert (await client.post("/sandbox/telegram/inbound", typed))["http_status"] == 200

    updates = [one["message"] for one in (await client.bot("getUpdates"))["result"]]

    assert [(one["from"]["id"], one["reply_to_message"]["message_id"]) for one in updates] == [
        (2001, sent),
        (2002, sent),
    ]
    listed = (await client.get("/sandbox/telegram/inbound"))["messages"]
    assert [one["from_id"] for one in listed] == [2001, 2002]


async def test_a_long_poll_wakes_when_the_person_types(client: Client, clock: HandClock) -> None:
    poll = asyncio.create_task(update_texts(client, timeout=50))
    await clock.someone_waits()
    assert not poll.done()

    await type_text(client, "Hi")

    assert await asyncio.wait_for(poll, PATIENCE_SECONDS) == ["Hi"]


async def test_a_long_poll_ends_empty_when_its_time_is_up(client: Client, clock: HandClock) -> None:
    poll = asyncio.create_task(update_texts(client, timeout=30))
    await clock.someone_waits()

    await clock.turn(30)

    assert await asyncio.wait_for(poll, PATIENCE_SECONDS) == []


async def test_reactions_come_only_to_those_who_ask_for_them(client: Client) -> None:
    sent = (await send(client))["result"]["message_id"]
    for emoji in ("👍", "🔥"):
        await client.post("/sandbox/telegram/reaction", {"chat_id": 42, "message_id": sent, "emoji": emoji})

    assert (await client.bot("getUpdates"))["result"] == []
    updates = (await client.bot("getUpdates", allowed_updates=["message_reaction"]))["result"]

    tapped = [update["message_reaction"] for update in updates]
    assert [(item["old_reaction"], item["new_reaction"]) for item in tapped] == [
        ([], [{"type": "emoji", "emoji": "👍"}]),
        ([{"type": "emoji", "emoji": "👍"}], [{"type": "emoji", "emoji": "🔥"}]),
    ]
    assert (tapped[0]["message_id"], tapped[0]["user"]["id"]) == (sent, 42)


# ---- faults


THROTTLED = "Too Many Requests: retry after"
STATUS_FAULTS: list[tuple[dict[str, int], str, int | None]] = [
    ({"status": 503}, "Service Unavailable: sandbox fault", None),
    ({"status": 403}, "Forbidden: sandbox fault", None),
    ({"status": 599}, "Error: sandbox fault", None),
    ({"status": 429, "retry_after": 5}, f"{THROTTLED} 5", 5),
    ({"status": 429}, f"{THROTTLED} 1", 1),
    ({"status": 503, "retry_after": 7}, "Service Unavailable: sandbox fault", 7),
]


async def test_a_status_fault_refuses_and_keeps_nothing(client: Client) -> None:
    for fault, description, wait in STATUS_FAULTS:
        await client.arm(channel="telegram", **fault)

        answer = await send(client)

        status = fault["status"]
        assert (answer["http_status"], answer["error_code"], answer["ok"]) == (status, status, False)
        assert (answer["description"], answer.get("parameters", {}).get("retry_after")) == (description, wait)
        assert answer["http_headers"].get("Retry-After") == (None if wait is None else str(wait))
    assert await client.texts() == []
    assert (await send(client))["ok"]


async def test_a_hanging_call_keeps_nothing_and_ends_when_the_client_gives_up(client: Client, clock: HandClock) -> None:
    await client.arm(channel="telegram", mode="hang")
    call = asyncio.create_task(send(client, "lost"))
    await clock.someone_waits()

    call.cancel()

    await clock.nobody_waits()
    assert await client.texts() == []


async def test_a_message_comes_back_in_telegrams_shape_and_is_listed(client: Client) -> None:
    answer = await client.bot("sendMessage", chat_id=42, text="Hello")

    result = answer["result"]
    assert (answer["http_status"], answer["ok"]) == (200, True)
    assert (result["message_id"], result["text"], result["date"]) == (1, "Hello", 1_780_000_000)
    assert result["chat"] == {"id": 42, "type": "private", "first_name": "Sandbox person"}
    assert result["from"]["is_bot"] is True
    listed = await client.get("/sandbox/telegram/messages")
    assert (listed["sandbox"], listed["count"], listed["total"]) == (True, 1, 1)
    assert (
        listed["messages"][0].items()
        >= {
            "message_id": 1,
            "chat_id": "42",
            "text": "Hello",
            "date": 1_780_000_000,
            "reply_to_message_id": None,
            "reactions": [],
            "parse_mode": None,
        }.items()
    )


@pytest.mark.parametrize(
    ("verb", "as_"), [("POST", "json"), ("POST", "data"), ("POST", "params"), ("GET", "params"), ("GET", "json")]
)
async def test_arguments_arrive_as_json_form_or_query(client: Client, verb: str, as_: str) -> None:
    first = await client.bot("sendMessage", chat_id=42, text="first")
    arguments = {
        "chat_id": "42",
        "text": "a&b=ü 😀",
        "reply_parameters": f'{{"message_id": {first["result"]["message_id"]}}}',
    }

    async with client.http.request(verb, "/bot40290:sandbox/sendMessage", **{as_: arguments}) as answer:
        result = (await answer.json())["result"]

    assert result["text"] == "a&b=ü 😀"
    assert result["reply_to_message"]["text"] == "first"


TO_42 = {"chat_id": 42, "text": "x"}
REACT = {"chat_id": 42, "message_id": 1}
THUMB = {"type": "emoji", "emoji": "👍"}
NOT_FOUND = "message to be replied not found"
BAD_REQUESTS: list[tuple[str, dict[str, Any], str]] = [
    ("sendMessage", {"chat_id": 42}, "message text is empty"),
    ("sendMessage", TO_42 | {"text": " \n"}, "message text is empty"),
    ("sendMessage", TO_42 | {"text": 7}, "strings must be encoded in UTF-8"),
    ("sendMessage", TO_42 | {"text": "\ud800"}, "strings must be encoded in UTF-8"),
    ("sendMessage", TO_42 | {"text": "a" * 4097}, "message is too long"),
    ("sendMessage", TO_42 | {"text": "😀" * 2049}, "message is too long"),
    ("sendMessage", TO_42 | {"reply_to_message_id": 999}, NOT_FOUND),
    ("sendMessage", TO_42 | {"reply_parameters": {"message_id": 999}}, NOT_FOUND),
    ("sendMessage", TO_42 | {"chat_id": 43, "reply_to_message_id": 1}, NOT_FOUND),  # of another chat
    ("sendMessage", TO_42 | {"reply_parameters": [1]}, "can't parse reply parameters JSON object"),
    ("editMessageText", TO_42 | {"message_id": 999}, "message to edit not found"),
    ("setMessageReaction", {"chat_id": 42, "message_id": 999, "reaction": [THUMB]}, "message to react not found"),
    ("setMessageReaction", REACT | {"reaction": [THUMB | {"emoji": "ok"}]}, "REACTION_INVALID"),
    ("setMessageReaction", REACT | {"reaction": [{"type": "emoji"}]}, "REACTION_INVALID"),
    ("setMessageReaction", REACT | {"reaction": [{"type": "paid"}]}, "REACTION_INVALID"),
    ("setMessageReaction", REACT | {"reaction": [THUMB] * 2}, "REACTIONS_TOO_MANY"),
    ("setMessageReaction", REACT | {"reaction": "👍"}, "can't parse reaction JSON object"),
    ("setMessageReaction", REACT | {"reaction": THUMB}, "can't parse reaction types JSON object"),
    (
        "answerCallbackQuery",
        {"callback_query_id": "7"},
        "query is too old and response timeout expired or query ID is invalid",
    ),
]


async def test_a_bad_request_is_refused_in_telegrams_words(client: Client) -> None:
    await send(client, "Hello")

    for method, arguments, words in BAD_REQUESTS:
        answer = await client.bot(method, **arguments)

        assert (answer["http_status"], answer["ok"], answer["error_code"]) == (400, False, 400), arguments
        assert answer["description"] == f"Bad Request: {words}", arguments
    assert await client.texts() == ["Hello"]


@pytest.mark.parametrize("text", ["a" * 4096, "😀" * 2048], ids=["letters", "pairs"])
async def test_a_text_of_exactly_the_limit_is_taken(client: Client, text: str) -> None:
    await client.bot("sendMessage", chat_id=42, text=text)

    assert await client.texts() == [text]


async def test_a_reply_that_may_stand_alone_is_sent_without_its_target(client: Client) -> None:
    parameters = {"message_id": 999, "allow_sending_without_reply": True}

    answer = await client.bot("sendMessage", chat_id=42, text="x", reply_parameters=parameters)

    assert answer["ok"] and "reply_to_message" not in answer["result"]


async def test_a_bot_can_answer_what_the_person_typed(client: Client) -> None:
    typed = await client.post("/sandbox/telegram/inbound", {"chat_id": 42, "text": "When?"})

    answer = await client.bot("sendMessage", chat_id=42, text="Now", reply_to_message_id=typed["message_id"])

    assert answer["result"]["reply_to_message"]["text"] == "When?"
    listed = (await client.get("/sandbox/telegram/messages"))["messages"]
    assert [item["reply_to_message_id"] for item in listed] == [typed["message_id"]]


async def test_an_edit_shows_the_new_text_and_keeps_the_old(client: Client) -> None:
    sent = (await client.bot("sendMessage", chat_id=42, text="one"))["result"]["message_id"]

    answer = await client.bot("editMessageText", chat_id=42, message_id=sent, text="two")
    again = await client.bot("editMessageText", chat_id=42, message_id=sent, text="two")

    assert answer["result"]["text"] == "two" and answer["result"]["edit_date"]
    assert again["description"].startswith("Bad Request: message is not modified")
    listed = (await client.get("/sandbox/telegram/messages"))["messages"]
    assert [(item["text"], item["earlier_texts"]) for item in listed] == [("two", ["one"])]


async def test_the_persons_own_message_cannot_be_edited(client: Client) -> None:
    typed = await client.post("/sandbox/telegram/inbound", {"chat_id": 42, "text": "mine"})

    answer = await client.bot("editMessageText", chat_id=42, message_id=typed["message_id"], text="yours")

    assert answer["description"] == "Bad Request: message can't be edited"


async def test_a_reaction_replaces_the_one_before_and_an_empty_one_takes_it_back(client: Client) -> None:
    sent = (await client.bot("sendMessage", chat_id=42, text="Hello"))["result"]["message_id"]

    async def react(*emoji: str) -> list[str]:
        reaction = [{"type": "emoji", "emoji": item} for item in emoji]
        answer = await client.bot("setMessageReaction", chat_id=42, message_id=sent, reaction=reaction)
        assert answer["result"] is True
        reactions: list[str] = (await client.get("/sandbox/telegram/messages"))["messages"][0]["reactions"]
        return reactions

    assert [await react("👍"), await react("❤"), await react()] == [["👍"], ["❤"], []]
    history = (await client.get("/sandbox/telegram/reactions"))["reactions"]
    assert [(item["emoji"], item["from"]) for item in history] == [("👍", "bot"), ("❤", "bot"), (None, "bot")]


async def test_a_pressed_button_reaches_the_bot_and_is_answered_once(client: Client) -> None:
    markup = {"inline_keyboard": [[{"text": "Approve", "callback_data": "approve:1"}]]}
    sent = (await client.bot("sendMessage", chat_id=42, text="May I?", reply_markup=markup))["result"]
    assert sent["reply_markup"] == markup

    await client.post(
        "/sandbox/telegram/callback", {"chat_id": 42, "message_id": sent["message_id"], "data": "approve:1"}
    )
    query = (await client.bot("getUpdates"))["result"][0]["callback_query"]
    first = await client.bot("answerCallbackQuery", callback_query_id=query["id"], text="Done")
    second = await client.bot("answerCallbackQuery", callback_query_id=query["id"])

    assert (query["data"], query["message"]["text"]) == ("approve:1", "May I?")
    assert (first["ok"], second["ok"]) == (True, False)
    listed = (await client.get("/sandbox/telegram/callbacks"))["callbacks"]
    assert [(item["answered"], item["answer"]) for item in listed] == [(True, "Done")]


@pytest.mark.parametrize("emoji", ["👍", "❤", "❤️", "❤‍🔥", "👨‍💻", "🤷‍♂️", "✅", "👍🏽", "🇨🇿", "1️⃣", "🫡", "⚡", "☃"])
def test_an_emoji_is_known_for_one(emoji: str) -> None:
    assert looks_like_emoji(emoji)


@pytest.mark.parametrize("text", ["", "ok", "1", "👍 ", "👍a", "<b>", "\u200d", "é", "你", "\ud83d", "👍" * 11])
def test_other_text_is_no_emoji(text: str) -> None:
    assert not looks_like_emoji(text)


async def test_one_chat_has_one_spelling_and_a_kind(client: Client) -> None:
    found = []
    for given in (42, " 42 ", "-100123", "@Some_Channel"):
        sent = (await client.bot("sendMessage", chat_id=given, text="x"))["result"]["chat"]
        assert isinstance(sent["id"], int)
        found.append(sent["type"])

    assert found == ["private", "private", "group", "channel"]
    listed = (await client.get("/sandbox/telegram/messages"))["messages"]
    assert [one["chat_id"] for one in listed] == ["42", "42", "-100123", "@some_channel"]


async def test_what_can_be_no_chat_is_not_found(client: Client) -> None:
    for given in (None, "", 0, "0", "042", True, 4.2, "@x", "Ada", [42], "4 2", "٤٢", "9" * 19, 10**30):
        answer = await client.bot("sendMessage", chat_id=given, text="x")
        assert (answer["http_status"], answer["description"]) == (400, "Bad Request: chat not found"), given
    assert await client.texts() == []
