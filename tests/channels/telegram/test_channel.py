from __future__ import annotations

from typing import Any

import pytest
import structlog
from tests.contract.bot_api import BotApi, Trouble, accepted, refused, reply
from tests.contract.pieces import Piecemeal

from postroom.channels.telegram.channel import Telegram, address, build
from postroom.kernel.text.rich import TEXT_LIMIT
from postroom.kernel.values.errors import TargetUnavailable, ValidationError
from postroom.kernel.values.ids import DeliveryId
from postroom.message.delivery import Intent, Message, Receipt, ReceiptKind
from postroom.message.markup import Button, Markup

TOKEN = "4242:canary"


def message(**changes: Any) -> Message:
    given_fields: dict[str, Any] = {
        "delivery_id": DeliveryId("d1"),
        "intent": Intent.SEND,
        "address": "4711",
        "text": "hello",
    }
    return Message(**(given_fields | changes))


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("4711", "4711"),
        (" -1001234567890 ", "-1001234567890"),
        ("0047", "47"),
        ("@Ada_Lovelace", "@ada_lovelace"),
        ("0", None),
        ("-0", None),
        ("--5", None),
        ("+5", None),
        ("٤٧", None),
        ("99999999999999999999", None),
        ("9223372036854775808", None),
        ("@ab", None),
        ("@1abc", None),
        ("@ada-lovelace", None),
        ("@ada\n", None),
        ("4711:5", None),
        ("https://t.me/ada", None),
    ],
)
def test_addresses(text: str, canonical: str | None) -> None:
    assert address(text) == canonical


def test_a_username_is_sent_as_it_is() -> None:
    assert build(message(address="@Ada_Lovelace"))[0].body["chat_id"] == "@ada_lovelace"


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("hello", ["hello\n\n(possibly repeated)"]),
        ("hello \n\n", ["hello\n\n(possibly repeated)"]),
        ("x" * TEXT_LIMIT, ["x" * TEXT_LIMIT, "(possibly repeated)"]),
        ("x" * TEXT_LIMIT + "y", ["x" * TEXT_LIMIT, "y\n\n(possibly repeated)"]),
    ],
    ids=["short", "with white space at its end", "no room for the mark", "in two parts"],
)
def test_what_may_have_come_before_says_so_at_its_end(text: str, sent: list[str]) -> None:
    assert [call.body["text"] for call in build(message(text=text, repeated=True))] == sent


def test_a_reaction_that_is_repeated_is_the_same_reaction() -> None:
    reaction = {"intent": Intent.REACT, "thread": "55", "emoji": "👍", "text": ""}

    assert build(message(**reaction, repeated=True)) == build(message(**reaction))


def test_only_the_first_part_of_a_reply_points_back() -> None:
    calls = build(message(intent=Intent.REPLY, thread="55", text="x" * (TEXT_LIMIT + 1)))

    assert [call.body.get("reply_parameters") for call in calls] == [{"message_id": 55}, None]


@pytest.mark.parametrize("thread", [None, "", "0", "-5", "4711:55", "55 ", "٥"])
@pytest.mark.parametrize("intent", [Intent.REPLY, Intent.REACT])
def test_an_answer_needs_the_number_of_a_message(intent: Intent, thread: str | None) -> None:
    with pytest.raises(ValidationError):
        build(message(intent=intent, thread=thread, emoji="👍"))


@pytest.mark.parametrize("emoji", ["👍", "❤️", "👨‍💻", "👍🏽"])
def test_a_reaction_is_one_emoji(emoji: str) -> None:
    (call,) = build(message(intent=Intent.REACT, thread="55", emoji=emoji, text=""))

    assert call.method == "setMessageReaction"
    assert call.body == {"chat_id": 4711, "message_id": 55, "reaction": [{"type": "emoji", "emoji": emoji}]}


@pytest.mark.parametrize("emoji", [None, "", " ", "ok", "a", "é", "👍👍", "👍 👍", ":+1:", "\x81", "\ud83d", "1️⃣"])
def test_anything_else_is_not_a_reaction(emoji: str | None) -> None:
    with pytest.raises(ValidationError):
        build(message(intent=Intent.REACT, thread="55", emoji=emoji))


async def test_a_reaction_has_a_receipt_of_its_own() -> None:
    async with BotApi() as api:
        api.behave(reply(200, {"ok": True, "result": True}))
        channel = Telegram(TOKEN, api.url)
        part = channel.prepare(message(intent=Intent.REACT, thread="55", emoji="👍"))[0]
        receipt = await channel.send(part, 5.0)
        await channel.close()

    assert receipt == Receipt.of_change(ReceiptKind.REACTION, "4711", "55")


async def test_updates_that_arrive_in_pieces_are_read_whole() -> None:
    updates = [{"update_id": number, "message": {"text": "word " * 20}} for number in range(3)]
    async with Piecemeal({"ok": True, "result": updates}) as api:
        channel = Telegram(TOKEN, api.url)
        assert await channel.updates(0, 0.0) == updates
        await channel.close()


async def test_a_base_url_may_have_a_path() -> None:
    async with BotApi() as api:
        channel = Telegram(TOKEN, f"{api.url}/telegram/")
        await channel.send(channel.prepare(message())[0], 5.0)
        await channel.close()

    assert api.requests[0].path == f"/telegram/bot{TOKEN}/sendMessage"


async def test_the_probe_says_who_we_are() -> None:
    async with BotApi() as api:
        api.behave(reply(200, {"ok": True, "result": {"id": 1, "is_bot": True, "username": "postroom_bot"}}))
        channel = Telegram(TOKEN, api.url)
        assert await channel.probe(5.0) == "@postroom_bot"
        await channel.close()

    assert api.requests[0].path == f"/bot{TOKEN}/getMe"


@pytest.mark.parametrize(
    "script",
    [refused(401, "Unauthorized"), refused(404, "Not Found"), Trouble.READ_THEN_RESET, reply(200, {"ok": False})],
    ids=["unauthorized", "malformed token", "cut", "garbage"],
)
async def test_a_failed_probe_is_never_uncertain_and_never_a_messages_fault(script: Any) -> None:
    async with BotApi() as api:
        api.behave(script)
        channel = Telegram(TOKEN, api.url)
        with pytest.raises(TargetUnavailable) as caught:
            await channel.probe(5.0)
        await channel.close()

    assert TOKEN not in repr(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.requirement("mail:deaf-said")
@pytest.mark.parametrize(
    ("description", "sentence"),
    [
        ("Conflict: can't use getUpdates method while webhook is active", "a webhook gets this bot's messages"),
        ("Conflict: terminated by other getUpdates request", "another program reads this bot's messages"),
    ],
)
async def test_it_is_said_who_else_gets_the_bots_messages(description: str, sentence: str) -> None:
    async with BotApi() as api:
        api.behave(refused(409, description))
        channel = Telegram(TOKEN, api.url)
        with pytest.raises(TargetUnavailable, match=sentence):
            await channel.listen(None, 0)
        await channel.close()

    assert [request.path for request in api.requests] == [f"/bot{TOKEN}/getUpdates"]  # what another set stays


async def test_updates_are_handed_over_as_they_came() -> None:
    told = [{"update_id": 8, "message": {"text": "hi"}}, "nonsense"]
    async with BotApi() as api:
        api.behave(reply(200, {"ok": True, "result": told}))
        channel = Telegram(TOKEN, api.url)
        assert await channel.updates(8, 30.0) == told[:1]
        await channel.updates(None, 0.0)
        await channel.close()

    kinds = {"allowed_updates": ["message", "edited_message", "callback_query", "my_chat_member"]}
    assert [request.body for request in api.requests] == [{"timeout": 30, "offset": 8} | kinds, {"timeout": 0} | kinds]


@pytest.mark.requirement("house:telegram-presses-are-answered")
async def test_a_press_is_answered_in_a_few_words() -> None:
    async with BotApi() as api:
        api.behave(reply(200, {"ok": True, "result": True}))
        channel = Telegram(TOKEN, api.url)
        assert await channel.answer_press("99", "Got it")
        assert await channel.answer_press("100", "x" * 300, alert=True, timeout_seconds=1.0)
        await channel.close()

    assert [request.path for request in api.requests] == [f"/bot{TOKEN}/answerCallbackQuery"] * 2
    assert [request.body for request in api.requests] == [
        {"callback_query_id": "99", "text": "Got it", "show_alert": False},
        {"callback_query_id": "100", "text": "x" * 199 + "…", "show_alert": True},
    ]


@pytest.mark.requirement("house:telegram-presses-are-answered")
@pytest.mark.parametrize(
    "script",
    [
        refused(400, "Bad Request: query is too old and response timeout expired or query ID is invalid"),
        refused(429, "Too Many Requests", parameters={"retry_after": 9}),
        refused(502, "Bad Gateway"),
        Trouble.READ_THEN_RESET,
    ],
    ids=["too old", "throttled", "away", "cut"],
)
async def test_an_answer_to_a_press_that_fails_does_no_harm_and_tells_nothing(
    script: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with structlog.testing.capture_logs() as logged:
        async with BotApi() as api:
            api.behave(script)
            channel = Telegram(TOKEN, api.url)
            assert not await channel.answer_press("99", "canary words")
            await channel.close()

    assert [entry["event"] for entry in logged] == ["telegram.press_unanswered"]
    assert "canary" not in str(logged) + caplog.text


@pytest.mark.requirement("house:telegram-buttons")
def test_buttons_stand_under_the_last_part_also_when_it_may_be_a_repetition() -> None:
    markup = Markup(buttons=((Button(label="Yes", token="q1:yes"),),))
    keys = {"inline_keyboard": [[{"text": "Yes", "callback_data": "q1:yes"}]]}
    for repeated in (False, True):
        calls = build(message(text="x" * 10_000, markup=markup, repeated=repeated))

        assert [call.body.get("reply_markup") for call in calls] == [None, None, keys]


def test_a_reply_that_asks_for_a_reply_asks_the_one_who_wrote() -> None:
    [call] = build(message(intent=Intent.REPLY, thread="55", markup=Markup(force_reply=True)))

    assert call.body["reply_markup"] == {"force_reply": True, "selective": True}
    assert call.body["reply_parameters"] == {"message_id": 55}


@pytest.mark.parametrize("token", ["", "a b", "1:x/../y", "1:x?y", "1:x\n", "1:%2e"])
def test_a_malformed_token_is_refused_without_being_repeated(token: str) -> None:
    with pytest.raises(ValueError, match="malformed") as caught:
        Telegram(token)

    assert not token or token not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    ["", "ftp://example.org", "example.org", "file:///etc/passwd", "http://u:p@example.org", "http://example.org?x"],
)
def test_the_base_url_must_be_http(url: str) -> None:
    with pytest.raises(ValueError, match="http"):
        Telegram(TOKEN, url)


async def test_parts_of_one_message_share_a_connection() -> None:
    async with BotApi() as api:
        api.behave(accepted(1), accepted(2))
        channel = Telegram(TOKEN, api.url)
        parts = channel.prepare(message(text="x" * TEXT_LIMIT + "y"))
        receipts = [await channel.send(part, 5.0) for part in parts]
        await channel.close()

    assert receipts == [Receipt("1"), Receipt("2")]
    assert api.connections == 1
