from __future__ import annotations

import pytest
from tests.sandbox.client import Client

from postroom.sandbox.telegram import looks_like_emoji


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


@pytest.mark.parametrize(
    ("method", "arguments", "words"),
    [
        pytest.param("sendMessage", {"text": "x"}, "chat not found", id="no-chat"),
        pytest.param("sendMessage", {"chat_id": "", "text": "x"}, "chat not found", id="empty-chat"),
        pytest.param("sendMessage", {"chat_id": "Ada", "text": "x"}, "chat not found", id="no-such-chat"),
        pytest.param("sendMessage", {"chat_id": True, "text": "x"}, "chat not found", id="boolean-chat"),
        pytest.param("sendMessage", {"chat_id": 10**30, "text": "x"}, "chat not found", id="huge-chat"),
        pytest.param("sendMessage", {"chat_id": 42}, "message text is empty", id="no-text"),
        pytest.param("sendMessage", {"chat_id": 42, "text": " \n"}, "message text is empty", id="blank-text"),
        pytest.param("sendMessage", {"chat_id": 42, "text": 7}, "strings must be encoded in UTF-8", id="number-text"),
        pytest.param(
            "sendMessage", {"chat_id": 42, "text": "\ud800"}, "strings must be encoded in UTF-8", id="half-pair"
        ),
        pytest.param("sendMessage", {"chat_id": 42, "text": "a" * 4097}, "message is too long", id="too-long"),
        pytest.param("sendMessage", {"chat_id": 42, "text": "😀" * 2049}, "message is too long", id="counted-in-utf16"),
        pytest.param(
            "sendMessage",
            {"chat_id": 42, "text": "x", "reply_to_message_id": 999},
            "message to be replied not found",
            id="old-style-reply",
        ),
        pytest.param(
            "sendMessage",
            {"chat_id": 42, "text": "x", "reply_parameters": {"message_id": 999}},
            "message to be replied not found",
            id="reply",
        ),
        pytest.param(
            "sendMessage",
            {"chat_id": 42, "text": "x", "reply_parameters": [1]},
            "can't parse reply parameters JSON object",
            id="reply-list",
        ),
        pytest.param(
            "editMessageText", {"chat_id": 42, "message_id": 999, "text": "x"}, "message to edit not found", id="edit"
        ),
        pytest.param(
            "setMessageReaction",
            {"chat_id": 42, "message_id": 999, "reaction": [{"type": "emoji", "emoji": "👍"}]},
            "message to react not found",
            id="react",
        ),
        pytest.param(
            "answerCallbackQuery",
            {"callback_query_id": "7"},
            "query is too old and response timeout expired or query ID is invalid",
            id="callback",
        ),
    ],
)
async def test_a_bad_request_is_refused_in_telegrams_words(
    client: Client, method: str, arguments: dict[str, object], words: str
) -> None:
    answer = await client.bot(method, **arguments)

    assert (answer["http_status"], answer["ok"], answer["error_code"]) == (400, False, 400)
    assert answer["description"] == f"Bad Request: {words}"
    assert await client.texts() == []


@pytest.mark.parametrize("text", ["a" * 4096, "😀" * 2048], ids=["letters", "pairs"])
async def test_a_text_of_exactly_the_limit_is_taken(client: Client, text: str) -> None:
    await client.bot("sendMessage", chat_id=42, text=text)

    assert await client.texts() == [text]


async def test_a_message_of_another_chat_cannot_be_replied_to(client: Client) -> None:
    sent = await client.bot("sendMessage", chat_id=42, text="secret")

    answer = await client.bot("sendMessage", chat_id=43, text="x", reply_to_message_id=sent["result"]["message_id"])

    assert answer["description"] == "Bad Request: message to be replied not found"


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


@pytest.mark.parametrize(
    ("reaction", "words"),
    [
        pytest.param([{"type": "emoji", "emoji": "ok"}], "REACTION_INVALID", id="letters"),
        pytest.param([{"type": "emoji"}], "REACTION_INVALID", id="missing"),
        pytest.param([{"type": "paid"}], "REACTION_INVALID", id="other-type"),
        pytest.param([{"type": "emoji", "emoji": "👍"}] * 2, "REACTIONS_TOO_MANY", id="two"),
        pytest.param("👍", "can't parse reaction JSON object", id="no-json"),
        pytest.param({"emoji": "👍"}, "can't parse reaction types JSON object", id="no-list"),
    ],
)
async def test_what_is_no_reaction_is_refused(client: Client, reaction: object, words: str) -> None:
    sent = (await client.bot("sendMessage", chat_id=42, text="Hello"))["result"]["message_id"]

    answer = await client.bot("setMessageReaction", chat_id=42, message_id=sent, reaction=reaction)

    assert answer["description"] == f"Bad Request: {words}"


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
