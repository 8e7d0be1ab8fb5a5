from __future__ import annotations

import json
from functools import reduce
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sandbox.client import Client
from tests.support.markdown_texts import markdown

from postroom.channels.telegram.building import bodies
from postroom.console.words import safe_link
from postroom.kernel.values.ids import DeliveryId
from postroom.message.delivery import Format, Intent, Message
from postroom.sandbox.page import LookedText, looks
from postroom.sandbox.telegram_objects import MOST_ENTITIES

BOLD = {"type": "bold", "offset": 0, "length": 1}


@pytest.mark.requirement("content:sandbox-formatted")
async def test_entities_are_kept_as_they_came_and_those_too_many_are_left_out(client: Client) -> None:
    for entities in ([], [BOLD] * 300, json.dumps([BOLD])):
        assert (await client.bot("sendMessage", chat_id=42, text="x", entities=entities))["ok"]
    for wrong in ({"type": "bold"}, ["bold"], [BOLD | {"length": 0}], [BOLD | {"offset": "1"}]):
        answer = await client.bot("sendMessage", chat_id=42, text="x", entities=wrong)
        assert answer["description"].startswith("Bad Request: can't parse MessageEntity"), wrong
    deep = reduce(lambda inner, _: [inner], range(700), [])
    answer = await client.bot("sendMessage", chat_id=42, text="x", entities=[BOLD | {"more": deep}])
    assert answer["description"] == "Bad Request: object is nested too deeply"

    listed = (await client.get("/sandbox/telegram/messages"))["messages"]
    assert [one["entities"] for one in listed] == [None, [BOLD] * MOST_ENTITIES, [BOLD]]


TAGS = {"strong", "em", "s", "code", "q"}


def entity(kind: str, offset: object, length: object, **more: Any) -> dict[str, Any]:
    return {"type": kind, "offset": offset, "length": length, **more}


@pytest.mark.requirement("content:sandbox-formatted")
def test_entities_are_seen_where_telegram_would_show_them() -> None:
    entities = [
        entity("bold", 3, 4),
        entity("code", 8, 4),
        entity("text_link", 13, 4, url="https://evil.example/x"),
    ]

    assert looks("😀 bold code link", entities) == [
        LookedText(text="😀 "),
        LookedText(text="bold", tags=("strong",)),
        LookedText(text=" "),
        LookedText(text="code", tags=("code",)),
        LookedText(text=" "),
        LookedText(text="link", link=safe_link("https://evil.example/x"), ends=True),
    ]


@pytest.mark.requirement("content:sandbox-formatted", "content:no-injection")
@pytest.mark.parametrize(
    "entities",
    [
        None,
        [entity("bold", 0, 99)],
        [entity("bold", 1, 1)],
        [entity("bold", "0", True)],
        [entity("script", 0, 2)],
        [["bold"]],
    ],
)
def test_what_does_not_fit_looks_plain(entities: object) -> None:
    assert looks("😀a", entities) == [LookedText(text="😀a")]


def test_a_link_to_anything_but_the_web_is_text() -> None:
    entities = [entity("text_link", 0, 1, url="javascript:alert(1)")]
    assert looks("a", entities) == [LookedText(text="a")]


_ENTITIES = st.lists(
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(["bold", "pre", "text_link", "blockquote", "x"]),
            "offset": st.integers(-2, 20),
            "length": st.integers(-2, 20),
            "url": st.sampled_from(["https://a.example", "javascript:x", "https://[", None]),
        }
    ),
    max_size=6,
)


@pytest.mark.requirement("content:nothing-lost", "content:no-injection")
@given(st.text(alphabet="ab<>&😀\n", max_size=20), _ENTITIES)
def test_whatever_is_said_of_it_the_whole_text_is_there(text: str, entities: list[dict[str, Any]]) -> None:
    found = looks(text, entities)

    assert "".join(one.text for one in found) == text
    assert all(set(one.tags) <= TAGS for one in found)
    assert all(one.link is None or one.link.href.startswith("https://") for one in found)


@pytest.mark.requirement("content:nothing-lost", "content:sandbox-formatted")
@settings(deadline=None)  # a machine may be busy
@given(markdown)
def test_what_our_channels_send_is_seen_whole(source: str) -> None:
    message = Message(delivery_id=DeliveryId("d"), intent=Intent.SEND, address="1", text=source, format=Format.MARKDOWN)
    for body in bodies(message) if source.strip() else ():
        seen = looks(body["text"], body.get("entities"))
        assert "".join(one.text for one in seen) == body["text"]


KEYS = {
    "inline_keyboard": [
        [{"text": "Ship", "callback_data": "q1:ship", "style": "success"}, {"text": "Don't", "callback_data": "q1:no"}],
        [{"text": "Open", "url": "https://home.example/a/x"}],
    ]
}


async def card(client: Client, chat_id: object = 42, markup: object = KEYS) -> int:
    answer = await client.bot("sendMessage", chat_id=chat_id, text="Ship it?", reply_markup=markup)
    assert answer["ok"], answer
    number: int = answer["result"]["message_id"]
    return number


async def press(client: Client, message_id: object, button: str, **more: object) -> dict[str, Any]:
    return await client.post("/sandbox/telegram/press", {"message_id": message_id, "button": button, **more})


async def queries(client: Client, **arguments: object) -> list[dict[str, Any]]:
    updates = (await client.bot("getUpdates", **arguments))["result"]
    return [update["callback_query"] for update in updates if "callback_query" in update]


@pytest.mark.requirement("house:sandbox-press")
@pytest.mark.parametrize("button", ["Ship", "q1:ship"], ids=["label", "data"])
async def test_a_button_is_pressed_by_its_label_or_its_data(client: Client, button: str) -> None:
    sent = await card(client)

    answer = await press(client, str(sent), button)

    assert (answer["callback"]["data"], answer["callback"]["answered"]) == ("q1:ship", False)
    [query] = await queries(client)
    assert (query["data"], query["from"]["id"], query["from"]["is_bot"]) == ("q1:ship", 42, False)
    assert (query["message"]["message_id"], query["message"]["chat"]["id"]) == (sent, 42)
    assert query["message"]["reply_markup"] == KEYS


@pytest.mark.requirement("house:sandbox-press")
async def test_any_member_of_a_group_can_press(client: Client) -> None:
    sent = await card(client, -100)
    for member in (2001, "2002"):
        await press(client, sent, "Ship", from_id=member)

    found = await queries(client)

    assert [(one["from"]["id"], one["message"]["chat"]["type"]) for one in found] == [(2001, "group"), (2002, "group")]
    listed = (await client.get("/sandbox/telegram/callbacks"))["callbacks"]
    assert [one["from_id"] for one in listed] == [2001, 2002]


async def test_a_label_that_stands_on_two_buttons_needs_the_data(client: Client) -> None:
    twice = {"inline_keyboard": [[{"text": "Yes", "callback_data": "1"}, {"text": "Yes", "callback_data": "2"}]]}
    sent = await card(client, markup=twice)

    assert (await press(client, sent, "Yes"))["error"]["fields"][0]["code"] == "ambiguous"
    assert (await press(client, sent, "2"))["callback"]["data"] == "2"


@pytest.mark.requirement("house:sandbox-like-telegram")
async def test_a_button_that_was_edited_away_cannot_be_pressed(client: Client) -> None:
    sent = await card(client)
    closed = {"chat_id": 42, "message_id": sent, "text": "Shipped.", "reply_markup": {"inline_keyboard": []}}

    first = await client.bot("editMessageText", **closed)
    again = await client.bot("editMessageText", **closed)

    assert "reply_markup" not in first["result"]
    assert again["description"].startswith("Bad Request: message is not modified: specified new message content")
    assert (await press(client, sent, "Ship"))["error"]["fields"][0]["field"] == "button"
    [listed] = (await client.get("/sandbox/telegram/messages"))["messages"]
    assert (listed["text"], listed["reply_markup"], listed["earlier_texts"]) == ("Shipped.", None, ["Ship it?"])
    assert [(one["text"], one["reply_markup"]) for one in listed["edits"]] == [("Ship it?", KEYS)]


@pytest.mark.requirement("house:sandbox-like-telegram")
async def test_buttons_alone_are_edited_and_that_is_no_earlier_text(client: Client) -> None:
    sent = await card(client)
    ticked = {"inline_keyboard": [[{"text": "☑ Ship", "callback_data": "q1:ship"}]]}

    first = await client.bot("editMessageReplyMarkup", chat_id=42, message_id=sent, reply_markup=ticked)
    again = await client.bot("editMessageReplyMarkup", chat_id=42, message_id=sent, reply_markup=ticked)

    assert (first["result"]["text"], first["result"]["reply_markup"]) == ("Ship it?", ticked)
    assert again["description"].startswith("Bad Request: message is not modified")
    [listed] = (await client.get("/sandbox/telegram/messages"))["messages"]
    assert (len(listed["edits"]), listed["earlier_texts"]) == (1, [])


@pytest.mark.requirement("house:sandbox-like-telegram")
async def test_a_message_that_asks_for_a_reply_stays_as_it_is(client: Client) -> None:
    box = {"force_reply": True, "input_field_placeholder": "Why not?"}
    sent = await card(client, markup=box)

    answer = await client.bot("editMessageText", chat_id=42, message_id=sent, text="Closed")

    assert answer["description"] == "Bad Request: message can't be edited"
    [listed] = (await client.get("/sandbox/telegram/messages"))["messages"]
    assert listed["reply_markup"] == box


YES = {"text": "Yes", "callback_data": "x"}
BUTTON = "can't parse inline keyboard button:"
WRONG_KEYS: list[tuple[Any, str]] = [
    (YES | {"callback_data": "x" * 65}, "BUTTON_DATA_INVALID"),
    (YES | {"callback_data": "ü" * 33}, "BUTTON_DATA_INVALID"),
    ({"text": "Yes"}, f"{BUTTON} Text buttons are unallowed in the inline keyboard"),
    ({"callback_data": "x"}, f'{BUTTON} Can\'t find field "text"'),
    (YES | {"text": " "}, "text buttons are unallowed in the inline keyboard"),
    (YES | {"style": "pink"}, f"{BUTTON} invalid button style specified"),
    (
        {"text": "Open", "url": "http://localhost:40200"},
        "inline keyboard button URL 'http://localhost:40200' is invalid: Wrong HTTP URL",
    ),
    ("Yes", f"{BUTTON} InlineKeyboardButton must be an Object"),
]
WRONG_MARKUPS: list[tuple[Any, str]] = [
    ({"inline_keyboard": [1]}, 'field "inline_keyboard" of the InlineKeyboardMarkup must be an Array of Arrays'),
    ({"inline_keyboard": [[YES] * 101]}, "reply markup is too long"),
    ({"force_reply": True, "input_field_placeholder": "x" * 65}, "reply keyboard placeholder is too long"),
    ([1], "can't parse reply keyboard markup JSON object"),
    *(({"inline_keyboard": [[key]]}, words) for key, words in WRONG_KEYS),
]


@pytest.mark.requirement("house:sandbox-like-telegram")
async def test_a_wrong_button_costs_the_whole_message(client: Client) -> None:
    for markup, words in WRONG_MARKUPS:
        answer = await client.bot("sendMessage", chat_id=42, text="x", reply_markup=markup)

        assert answer["description"] == f"Bad Request: {words}"
    assert await client.texts() == []


async def test_a_text_that_is_too_long_for_an_edit_is_refused_in_other_words(client: Client) -> None:
    sent = await card(client)

    answer = await client.bot("editMessageText", chat_id=42, message_id=sent, text="x" * 4097)

    assert answer["description"] == "Bad Request: MESSAGE_TOO_LONG"


@pytest.mark.requirement("house:sandbox-press")
async def test_an_answer_to_a_press_is_shown_with_its_message(client: Client) -> None:
    sent = await card(client)
    await press(client, sent, "Ship", from_id=7)
    [query] = await queries(client)

    answer = await client.bot("answerCallbackQuery", callback_query_id=query["id"], text="Got it", show_alert=True)

    assert answer["result"] is True
    [listed] = (await client.get("/sandbox/telegram/messages"))["messages"]
    [shown] = listed["presses"]
    assert (shown["data"], shown["answer"], shown["alert"], shown["from_id"]) == ("q1:ship", "Got it", True, 7)


async def test_the_sandboxs_own_page_names_buttons_and_answers(client: Client) -> None:
    sent = await card(client)
    await press(client, sent, "Ship")
    [query] = await queries(client)
    await client.bot("answerCallbackQuery", callback_query_id=query["id"], text="Got <it>")

    async with client.http.get("/sandbox/") as answer:
        page = await answer.text()

    assert ">Ship</button>" in page and ">Don&#39;t</button>" in page
    assert "Got &lt;it&gt;" in page
