"""The five channel tools: what reaches the person, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from tests.butlers.messenger.house import MESSENGER, House, opened

from postroom.settings import Settings

pytestmark = pytest.mark.requirement("messenger:channel-tool-surface")


async def call(house: House, tool: str, **arguments: Any) -> dict[str, Any]:
    return await house.call(tool, arguments, by=MESSENGER)


async def delivery(house: House, answer: dict[str, Any]) -> dict[str, Any]:
    return await house.call("messenger_delivery_status", {"delivery_id": answer["delivery"]["delivery_id"]})


@pytest.mark.requirement("messenger:messenger-channel-ownership", "messenger:delivery-validation-and-lineage")
async def test_a_telegram_message_goes_out_on_the_one_path(settings: Settings) -> None:
    async with opened(settings) as house:
        answer = await call(house, "telegram_send_message", chat_id=1000, text="hello there")

        assert (answer["schema_version"], answer["status"]) == ("notify_response.v1", "ok")
        assert house.texts() == ["hello there"]
        stored = await delivery(house, answer)
        assert (stored["origin_butler"], stored["channel"], stored["intent"]) == ("messenger", "telegram", "send")
        assert (stored["target_identity"], stored["status"]) == ("1000", "delivered")
        assert stored["request_id"] == answer["request_context"]["request_id"]


LIKE_DATA = ["[1, 2, 3]", '{"a": 1}', "null", "true", "42", '"quoted"', "*not* _markup_ <b>"]


async def test_a_text_that_looks_like_data_arrives_as_it_is(settings: Settings) -> None:
    async with opened(settings) as house:
        for text in LIKE_DATA:
            await call(house, "telegram_send_message", chat_id="1000", text=text)
            await call(house, "email_send_message", to="anna@example.org", subject=text, body=text)

        assert house.texts() == LIKE_DATA
        assert [(one.subject, one.body.strip()) for one in house.mails()] == [(text, text) for text in LIKE_DATA]


async def test_a_reply_and_a_reaction_name_the_message_they_answer(settings: Settings) -> None:
    async with opened(settings) as house:
        first = await call(house, "telegram_send_message", chat_id="1000", text="question?")
        number = first["delivery"]["provider_delivery_id"]

        reply = await call(house, "telegram_reply_to_message", chat_id="1000", message_id=int(number), text="answer!")
        reaction = await call(house, "telegram_react_to_message", chat_id=1000, message_id=number, emoji="👍")

        assert (reply["status"], reaction["status"]) == ("ok", "ok")
        replied = house.messages()[-1]
        assert (replied.text, replied.reply_to_message_id) == ("answer!", int(number))
        assert [(one.message_id, one.emoji) for one in house.reactions()] == [(int(number), "👍")]
        stored = await delivery(house, reply)
        assert (stored["intent"], stored["target_identity"]) == ("reply", f"1000:{number}")


async def test_an_email_and_a_reply_in_its_thread(settings: Settings) -> None:
    async with opened(settings) as house:
        first = await call(house, "email_send_message", to="anna@example.org", subject="Lunch", body="At noon?")
        reply = await call(
            house,
            "email_reply_to_thread",
            to="anna@example.org",
            thread_id="<question@example.org>",
            body="Fine.",
            subject="Lunch",
        )
        bare = await call(house, "email_reply_to_thread", to="anna@example.org", thread_id="<q@example.org>", body="Ok")

        assert [one["status"] for one in (first, reply, bare)] == ["ok", "ok", "ok"]
        mails = house.mails()
        assert [one.recipients for one in mails] == [("anna@example.org",)] * 3
        assert mails[0].subject == "Lunch"
        assert (mails[1].subject, mails[1].in_reply_to) == ("Re: Lunch", "<question@example.org>")


BAD: dict[str, tuple[str, dict[str, Any]]] = {
    "no chat": ("telegram_send_message", {"text": "x"}),
    "null chat": ("telegram_send_message", {"chat_id": None, "text": "x"}),
    "blank chat": ("telegram_send_message", {"chat_id": "  ", "text": "x"}),
    "truth as chat": ("telegram_send_message", {"chat_id": True, "text": "x"}),
    "list as chat": ("telegram_send_message", {"chat_id": [1], "text": "x"}),
    "unknown name": ("telegram_send_message", {"chat_id": "Nobody Known", "text": "x"}),
    "blank text": ("telegram_send_message", {"chat_id": "1000", "text": "  "}),
    "null text": ("telegram_send_message", {"chat_id": "1000", "text": None}),
    "number as text": ("telegram_send_message", {"chat_id": "1000", "text": 5}),
    "NUL": ("telegram_send_message", {"chat_id": "1000", "text": "a\x00b"}),
    "extra": ("telegram_send_message", {"chat_id": "1000", "text": "x", "parse_mode": "HTML"}),
    "message id": ("telegram_reply_to_message", {"chat_id": "1000", "message_id": "last", "text": "x"}),
    "null message id": ("telegram_reply_to_message", {"chat_id": "1000", "message_id": None, "text": "x"}),
    "two emoji": ("telegram_react_to_message", {"chat_id": "1000", "message_id": 1, "emoji": "👍👍"}),
    "no emoji": ("telegram_react_to_message", {"chat_id": "1000", "message_id": 1, "emoji": ""}),
    "no address": ("email_send_message", {"to": "not an address", "subject": "s", "body": "b"}),
    "null address": ("email_send_message", {"to": None, "subject": "s", "body": "b"}),
    "header": ("email_send_message", {"to": "a@example.org", "subject": "a\r\nBcc: b@example.org", "body": "b"}),
    "blank subject": ("email_send_message", {"to": "a@example.org", "subject": " ", "body": "b"}),
    "no subject": ("email_send_message", {"to": "a@example.org", "body": "b"}),
    "blank body": ("email_send_message", {"to": "a@example.org", "subject": "s", "body": ""}),
    "reply to nobody": ("email_reply_to_thread", {"to": "", "thread_id": "<t@x.org>", "body": "b"}),
}


async def test_what_cannot_be_sent_is_a_validation_error_and_leaves_nothing(settings: Settings) -> None:
    async with opened(settings) as house:
        for name, (tool, arguments) in BAD.items():
            answer = await call(house, tool, **arguments)
            assert (answer["schema_version"], answer["status"]) == ("notify_response.v1", "error"), (name, answer)
            assert answer["error"]["class"] == answer["error_class"] == "validation_error", name
            assert answer["retryable"] is False, name
        assert house.texts() == []
        assert house.mails() == []
        assert await house.rows("SELECT id FROM {messenger}delivery_requests") == []


NAMED: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "all at once": ("telegram_send_message", {"chat_id": True, "text": "", "silent": 1}, ["chat_id", "silent", "text"]),
    "nothing": ("telegram_reply_to_message", {}, ["chat_id", "message_id", "text"]),
    "kinds": ("telegram_react_to_message", {"chat_id": 1, "message_id": [], "emoji": 5}, ["emoji", "message_id"]),
    "who": ("telegram_send_message", {"chat_id": "Nobody Known", "text": "x"}, ["chat_id"]),
    "which": ("telegram_reply_to_message", {"chat_id": 1000, "message_id": "last", "text": "x"}, ["message_id"]),
    "blank": ("email_send_message", {"to": " ", "subject": "a\nb", "body": "  "}, ["body", "subject", "to"]),
    "long": ("email_send_message", {"to": "a@example.org", "subject": "s", "body": "x" * 100_001}, ["body"]),
    "thread": ("email_reply_to_thread", {"to": "a@example.org", "thread_id": "\n", "body": "b"}, ["thread_id"]),
}


async def test_a_refusal_names_every_wrong_argument_as_the_caller_called_it(settings: Settings) -> None:
    async with opened(settings) as house:
        for name, (tool, arguments, expected) in NAMED.items():
            answer = await call(house, tool, **arguments)
            assert sorted({one["field"] for one in answer["error"]["fields"]}) == expected, (name, answer)
            assert not any(word in answer["error_message"] for word in ("delivery.", "request_context.")), name


async def test_what_may_be_of_two_kinds_is_said_in_one_sentence(settings: Settings) -> None:
    async with opened(settings) as house:
        answer = await call(house, "telegram_send_message", chat_id=[1], text={})

        assert answer["error_message"] == "chat_id: must be text or a whole number; text: must be text"


async def test_limits_and_circuits_hold_for_channel_tools_too(settings: Settings) -> None:
    tight = settings.model_copy(update={"limits": settings.limits.model_copy(update={"recipient_per_minute": 1})})
    async with opened(tight) as house:
        await call(house, "telegram_send_message", chat_id="1000", text="one")

        refused = await call(house, "telegram_send_message", chat_id="1000", text="two")

        assert (refused["error"]["limit_type"], refused["retryable"]) == ("recipient", True)
        assert house.texts() == ["one"]


async def test_the_same_call_twice_is_two_messages(settings: Settings) -> None:
    async with opened(settings) as house:
        for _ in range(2):
            await call(house, "telegram_send_message", chat_id="1000", text="tick")

        assert house.texts() == ["tick", "tick"]
