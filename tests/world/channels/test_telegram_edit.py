"""Edits over a real socket: every part, the buttons first, and each refusal with one meaning."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from tests.contract.bot_api import BotApi, Reply, Trouble, accepted, refused, reply
from tests.patience import PATIENCE_SECONDS

from postroom.domain.delivery import Intent, Message, Receipt
from postroom.domain.errors import OutcomeUncertain, PostroomError, ProviderThrottled, ValidationError
from postroom.domain.ids import DeliveryId
from postroom.domain.markup import Button, Markup, Revision
from postroom.world.channels.telegram import Telegram, build

TOKEN = "4242:canary"
CARD = Markup(buttons=((Button(label="☑ Milk", token="q1:milk"), Button(label="Send", token="q1:send")),))
NOT_MODIFIED = (
    "Bad Request: message is not modified: specified new message content and reply markup are exactly the same as a"
    " current content and reply markup of the message"
)


def revision(*provider_ids: str, **changes: Any) -> Message:
    revises = Revision(delivery_id=DeliveryId("d1"), provider_ids=provider_ids or ("77",))
    given: dict[str, Any] = {
        "delivery_id": DeliveryId("d2"),
        "intent": Intent.SEND,
        "address": "4711",
        "text": "Closed",
    }
    return Message(**(given | {"revises": revises} | changes))


def shapes(message: Message) -> list[tuple[str, dict[str, Any]]]:
    return [(call.method, dict(call.body)) for call in build(message)]


@pytest.mark.requirement("house:telegram-edits")
def test_closing_a_card_takes_its_buttons_away() -> None:
    assert shapes(revision()) == [
        (
            "editMessageText",
            {"chat_id": 4711, "message_id": 77, "text": "Closed", "reply_markup": {"inline_keyboard": []}},
        )
    ]


def test_buttons_alone_are_changed_without_the_text() -> None:
    keys = [[{"text": "☑ Milk", "callback_data": "q1:milk"}, {"text": "Send", "callback_data": "q1:send"}]]

    assert shapes(revision("76", "77", text="", markup=CARD)) == [
        ("editMessageReplyMarkup", {"chat_id": 4711, "message_id": 77, "reply_markup": {"inline_keyboard": keys}})
    ]


@pytest.mark.requirement("house:telegram-edits")
def test_every_part_of_a_long_card_is_edited_and_the_one_with_the_buttons_first() -> None:
    text = "word " * 1000 + "\nAnswered by Anna"

    last, first = shapes(revision("76", "77", text=text))

    assert (last[1]["message_id"], first[1]["message_id"]) == (77, 76)
    assert last[1]["reply_markup"] == {"inline_keyboard": []}
    assert last[1]["text"].endswith("Answered by Anna")
    assert "reply_markup" not in first[1]


def test_a_text_that_has_grown_goes_on_in_answers_to_its_first_message() -> None:
    (method, edit), (_, answer) = shapes(revision(text="word " * 1000 + "\nAnswered by Anna", markup=CARD))

    assert (method, edit["message_id"], "reply_markup" in edit) == ("editMessageText", 77, False)
    assert answer["reply_parameters"] == {"message_id": 77, "allow_sending_without_reply": True}
    assert answer["text"].endswith("Answered by Anna")
    assert len(answer["reply_markup"]["inline_keyboard"][0]) == 2


def test_of_a_text_that_has_shrunk_the_messages_it_needs_no_more_are_deleted() -> None:
    assert [(method, body["message_id"]) for method, body in shapes(revision("76", "77", "78"))] == [
        ("deleteMessage", 78),
        ("editMessageText", 76),
        ("deleteMessage", 77),
    ]


def test_what_earlier_revisions_added_is_edited_too_and_what_they_deleted_is_not() -> None:
    revises = Revision(delivery_id=DeliveryId("d1"), provider_ids=("76", "77"), gone=("77",), more=("78",))

    longer = shapes(revision(text="word " * 1000, revises=revises))
    assert [(method, body["message_id"]) for method, body in longer] == [
        ("editMessageText", 78),
        ("editMessageText", 76),
    ]
    gone = shapes(revision(text="", revises=replace(revises, deletes=True)))
    assert [(method, body["message_id"]) for method, body in gone] == [("deleteMessage", 76), ("deleteMessage", 78)]


def test_a_caption_takes_less_and_the_rest_of_a_longer_text_answers_it() -> None:
    revises = Revision(delivery_id=DeliveryId("d1"), provider_ids=("77",), files=1)

    (_, edit), *answers = shapes(revision(text="word " * 300, revises=revises))

    assert len(edit["text"]) <= 1024
    assert [method for method, _ in answers] == ["sendMessage"]


@pytest.mark.parametrize("provider_ids", [("reaction:1:2",), ("0",), ("7", "x"), ("edit:1:2",)], ids=str)
def test_only_messages_can_be_edited(provider_ids: tuple[str, ...]) -> None:
    with pytest.raises(ValidationError, match="only a Telegram message"):
        build(revision(*provider_ids))


def test_an_edit_asks_for_no_reply_and_has_a_text_or_none() -> None:
    with pytest.raises(ValidationError, match="cannot ask for a reply"):
        build(revision(markup=Markup(force_reply=True)))
    with pytest.raises(ValidationError, match="blank"):
        build(revision(text=" \n"))


async def outcome(
    script: Reply | Trouble, message: Message, *more: Reply, timeout_seconds: float = 5.0
) -> Receipt | PostroomError:
    async with asyncio.timeout(PATIENCE_SECONDS), BotApi() as api:
        api.behave(script, *more)
        channel = Telegram(TOKEN, api.url)
        try:
            return await channel.send(channel.prepare(message)[0], timeout_seconds)
        except PostroomError as error:
            return error
        finally:
            await channel.close()


@pytest.mark.requirement("house:telegram-edits")
@pytest.mark.parametrize(
    "script",
    [accepted(), reply(200, {"ok": True, "result": True}), refused(400, NOT_MODIFIED)],
    ids=["a message", "true", "not modified"],
)
@pytest.mark.parametrize("message", [revision(), revision(text="", markup=CARD)], ids=["text", "buttons"])
async def test_an_edit_that_is_made_or_was_made_before_has_a_receipt_of_its_own(
    script: Reply, message: Message
) -> None:
    assert await outcome(script, message) == Receipt("edit:4711:77")


@pytest.mark.requirement("house:telegram-edits")
@pytest.mark.parametrize("words", ["message to edit not found", "message can't be edited", "MESSAGE_TOO_LONG"])
async def test_a_message_that_cannot_be_edited_ends_for_good_and_says_why(words: str) -> None:
    error = await outcome(refused(400, f"Bad Request: {words}"), revision())

    assert isinstance(error, ValidationError)
    assert words in error.message


async def test_not_modified_says_nothing_about_a_message_that_is_sent() -> None:
    sent = Message(delivery_id=DeliveryId("d"), intent=Intent.SEND, address="4711", text="hello")

    assert type(await outcome(refused(400, NOT_MODIFIED), sent)) is ValidationError


@pytest.mark.parametrize(
    ("script", "raises"),
    [
        (refused(429, "Too Many Requests", parameters={"retry_after": 3}), ProviderThrottled),
        (Trouble.READ_THEN_RESET, OutcomeUncertain),
        (Trouble.READ_THEN_CLOSE, OutcomeUncertain),
    ],
    ids=["throttled", "cut", "closed"],
)
async def test_other_trouble_means_what_it_always_means(script: Reply | Trouble, raises: type[PostroomError]) -> None:
    assert type(await outcome(script, revision())) is raises


async def test_no_error_quotes_a_link_or_a_token() -> None:
    link = "https://home.example/a/canary-link"
    card = Markup(buttons=((Button(label="Open", url=link), Button(label="Yes", token="canary-token")),))
    for quoted in (link, "canary-token"):
        error = await outcome(refused(400, f"Bad Request: button '{quoted}' is invalid"), revision(markup=card))

        assert isinstance(error, ValidationError)
        assert "canary" not in str(error) + repr(error) + repr(build(revision(markup=card)))


async def test_what_telegram_deletes_no_more_says_as_little_as_can_be() -> None:
    too_old = refused(400, "Bad Request: message can't be deleted for everyone")

    assert await outcome(too_old, revision("76", "77"), accepted()) == Receipt("edit:4711:77")


@pytest.mark.requirement("content:what-was-sent-is-edited-or-deleted")
def test_a_recall_deletes_every_part() -> None:
    gone = Revision(delivery_id=DeliveryId("d1"), provider_ids=("76", "77"), deletes=True)

    assert shapes(revision(text="", revises=gone)) == [
        ("deleteMessage", {"chat_id": 4711, "message_id": 76}),
        ("deleteMessage", {"chat_id": 4711, "message_id": 77}),
    ]
