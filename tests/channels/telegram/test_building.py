"""Edits over a real socket: every part, the buttons first, and each refusal with one meaning."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.channels.recording_server import Recorder, Seen, recording
from tests.contract.bot_api import BotApi, Reply, Trouble, accepted, refused, reply
from tests.patience import PATIENCE_SECONDS
from tests.support.markdown_texts import inked, markdown

from postroom.channels.telegram.building import MOST_ENTITIES, rich_of
from postroom.channels.telegram.channel import Telegram, build
from postroom.kernel.values.errors import (
    OutcomeUncertain,
    PostroomError,
    ProviderThrottled,
    StoreUnavailable,
    ValidationError,
)
from postroom.kernel.values.ids import DeliveryId
from postroom.message.delivery import REPEAT_MARK, Format, Intent, Message, Receipt, ReceiptKind
from postroom.message.markup import Button, Markup, Revision
from postroom.testing.case import HeldFiles

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
    assert await outcome(script, message) == Receipt.of_change(ReceiptKind.EDIT, "4711", "77")


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

    assert await outcome(too_old, revision("76", "77"), accepted()) == Receipt.of_change(ReceiptKind.EDIT, "4711", "77")


@pytest.mark.requirement("content:what-was-sent-is-edited-or-deleted")
def test_a_recall_deletes_every_part() -> None:
    gone = Revision(delivery_id=DeliveryId("d1"), provider_ids=("76", "77"), deletes=True)

    assert shapes(revision(text="", revises=gone)) == [
        ("deleteMessage", {"chat_id": 4711, "message_id": 76}),
        ("deleteMessage", {"chat_id": 4711, "message_id": 77}),
    ]


NOTHING_INSIDE = {"code", "pre"}


def message(text: str, **changes: Any) -> Message:
    fields: dict[str, Any] = {"delivery_id": DeliveryId("d1"), "intent": Intent.SEND, "address": "4711"}
    return Message(**(fields | {"text": text, "format": Format.MARKDOWN} | changes))


def bodies(text: str, **changes: Any) -> list[dict[str, Any]]:
    return [dict(call.body) for call in build(message(text, **changes))]


def under(body: dict[str, Any], entity: dict[str, Any]) -> str:
    units = body["text"].encode("utf-16-le")
    return units[2 * entity["offset"] : 2 * (entity["offset"] + entity["length"])].decode("utf-16-le")


@pytest.mark.requirement("content:telegram-entities")
def test_a_text_with_entities_and_never_a_parse_mode() -> None:
    (body,) = bodies("😀 **b** [l](https://a.example) `c`\n```py\nx\n```\n> q")

    found = [(entity["type"], under(body, entity)) for entity in body["entities"]]
    assert found == [("bold", "b"), ("text_link", "l"), ("code", "c"), ("pre", "x"), ("blockquote", "q")]
    assert body["entities"][0]["offset"] == 3
    assert body["entities"][1]["url"] == "https://a.example"
    assert body["entities"][3]["language"] == "py"
    assert body["link_preview_options"] == {"is_disabled": True}
    assert "parse_mode" not in body


def test_code_within_bold_cuts_the_bold_and_a_link_wins_over_code() -> None:
    (bold,) = bodies("**a `b` c**")
    (link,) = bodies("[`x`](https://a.example)")

    assert [(one["type"], under(bold, one)) for one in bold["entities"]] == [
        ("bold", "a "),
        ("code", "b"),
        ("bold", " c"),
    ]
    assert [one["type"] for one in link["entities"]] == ["text_link"]


def test_a_mailbox_is_shown_because_telegram_opens_only_the_web() -> None:
    (body,) = bodies("[me](mailto:a@b.example)")
    assert body["text"] == "me (mailto:a@b.example)"


@pytest.mark.requirement("content:telegram-entities")
def test_a_span_that_is_cut_in_two_is_opened_again() -> None:
    first, second = bodies(f"**{'word ' * 1000}end**")

    for body in (first, second):
        (entity,) = body["entities"]
        assert under(body, entity) == body["text"]


@pytest.mark.parametrize("look", ["**b** ", "`c` ", "[l](https://a.example) "])
def test_more_looks_than_telegram_takes_at_once_are_messages_of_their_own(look: str) -> None:
    shown = bodies(look * 250)
    assert sum(len(body["entities"]) for body in shown) == 250
    assert all(len(body["entities"]) <= MOST_ENTITIES for body in shown)


def test_an_edit_has_entities_too() -> None:
    revises = Revision(delivery_id=DeliveryId("d0"), provider_ids=("7",))
    first, answer = bodies(f"[l](https://a.example) {'word ' * 1000}**b**", revises=revises)
    assert [one["entities"][0]["type"] for one in (first, answer)] == ["text_link", "bold"]


@pytest.mark.requirement("content:nothing-lost")
@settings(deadline=None)  # a machine may be busy
@given(markdown.filter(str.strip), st.booleans())
def test_nothing_visible_is_lost_and_every_entity_is_lawful(source: str, repeated: bool) -> None:
    shown = bodies(source, repeated=repeated)

    mark = REPEAT_MARK if repeated else ""
    assert inked("".join(body["text"] for body in shown)) == inked(rich_of(message(source)).text + mark)
    for body in shown:
        units = len(body["text"].encode("utf-16-le")) // 2
        assert units <= 4096
        found = body.get("entities", [])
        assert len(found) <= MOST_ENTITIES
        for number, entity in enumerate(found):
            start, end = entity["offset"], entity["offset"] + entity["length"]
            assert 0 <= start < end <= units
            under(body, entity)
            for other in found[number + 1 :]:
                inside = other["offset"] + other["length"] <= end
                assert other["offset"] >= end or inside
                assert not (other["offset"] < end and entity["type"] in NOTHING_INSIDE)


@pytest.mark.requirement("content:plain-exact")
@given(st.text(min_size=1, max_size=200).filter(str.strip).filter(lambda text: "\x00" not in text))
def test_plain_text_is_sent_as_it_ever_was(text: str) -> None:
    assert bodies(text, format=Format.PLAIN) == [{"chat_id": 4711, "text": text}]


PNG = b"\x89PNG\r\n\x1a\n" + b"\r\n--postroom" * 40
FILES = HeldFiles()
LOG = FILES.hold('Prüf "bericht" – 7 %.log', b"one\ntwo\n", "text/plain")
PICTURE = FILES.hold("bild.png", PNG, "image/png")


def telegram_files_message(**changes: Any) -> Message:
    fields: dict[str, Any] = {"delivery_id": DeliveryId("d1"), "intent": Intent.SEND, "address": "4711"}
    return Message(**(fields | {"text": "the report"} | changes))


def taken(seen: Seen) -> tuple[int, Any]:
    return 200, {"ok": True, "result": {"message_id": 77}}


async def sent(given: Message, answer: Any = taken) -> list[Seen]:
    async with recording(answer) as server:
        await send_to(server, given)
    return server.seen


async def send_to(server: Recorder, given: Message) -> list[str]:
    channel = Telegram(TOKEN, server.url, files=FILES)
    try:
        return [(await channel.send(part, 10.0)).provider_id for part in channel.prepare(given)]
    finally:
        await channel.close()


def methods(seen: list[Seen]) -> list[str]:
    return [one.path.rpartition("/")[2] for one in seen]


@pytest.mark.requirement("content:telegram-files")
async def test_a_short_text_is_the_caption_of_its_file() -> None:
    [one] = await sent(telegram_files_message(attachments=(LOG,)))

    assert methods([one]) == ["sendDocument"]
    assert one.fields == {"chat_id": "4711", "caption": "the report", "disable_content_type_detection": "true"}
    [file] = one.files.values()
    assert (file.name, file.media_type, file.content) == (LOG.name, "text/plain", b"one\ntwo\n")
    assert list(one.files) == ["document"]


async def test_a_picture_goes_as_a_photo_whatever_its_bytes_are() -> None:
    [one] = await sent(telegram_files_message(attachments=(PICTURE,)))

    assert methods([one]) == ["sendPhoto"]
    assert one.files["photo"].content == PNG


async def test_a_large_picture_is_a_document() -> None:
    large = FILES.hold("large.jpg", b"j" * 10_000_001, "image/jpeg")

    [one] = await sent(telegram_files_message(attachments=(large,)))

    assert methods([one]) == ["sendDocument"]
    assert one.files["document"].content == b"j" * 10_000_001


@pytest.mark.parametrize("code", ["PHOTO_INVALID_DIMENSIONS", "IMAGE_PROCESS_FAILED"])
async def test_what_telegram_makes_no_picture_of_is_sent_as_a_document_at_once(code: str) -> None:
    def picky(seen: Seen) -> tuple[int, Any]:
        told = {"ok": False, "error_code": 400, "description": f"Bad Request: {code}"}
        return (400, told) if seen.path.endswith("sendPhoto") else taken(seen)

    seen = await sent(telegram_files_message(attachments=(PICTURE,)), picky)

    assert methods(seen) == ["sendPhoto", "sendDocument"]
    assert seen[1].fields["caption"] == "the report"
    assert seen[1].files["document"].content == PNG


async def test_markdown_in_a_caption_is_entities_and_has_no_preview() -> None:
    [one] = await sent(telegram_files_message(text="the **report**", format=Format.MARKDOWN, attachments=(LOG,)))

    assert json.loads(one.fields["caption_entities"]) == [{"type": "bold", "offset": 4, "length": 6}]
    assert "link_preview_options" not in one.fields
    assert "parse_mode" not in one.fields


async def test_several_files_come_after_the_text_each_with_a_receipt() -> None:
    numbers = iter(range(1, 9))
    markup = Markup(buttons=((Button(label="Open", token="t1"),),))
    async with recording(lambda seen: (200, {"ok": True, "result": {"message_id": next(numbers)}})) as server:
        given = telegram_files_message(intent=Intent.REPLY, thread="55", attachments=(PICTURE, LOG), markup=markup)
        receipts = await send_to(server, given)

    assert methods(server.seen) == ["sendMessage", "sendPhoto", "sendDocument"]
    assert receipts == ["1", "2", "3"]
    assert server.seen[0].json["reply_parameters"] == {"message_id": 55}
    assert "reply_markup" in server.seen[0].json
    assert not any({"reply_markup", "caption", "reply_parameters"} & one.fields.keys() for one in server.seen[1:])


def album(seen: Seen) -> tuple[int, Any]:
    """As many messages as it has files, beginning with 101."""
    if not seen.path.endswith("sendMediaGroup"):
        return taken(seen)
    count = len(json.loads(seen.fields["media"]))
    return 200, {"ok": True, "result": [{"message_id": 101 + place} for place in range(count)]}


async def parts_sent(given: Message, answer: Any = album) -> tuple[list[Seen], list[str]]:
    """As the household does it: what one call brought along is not sent again."""
    async with recording(answer) as server:
        channel, receipts, receipt = Telegram(TOKEN, server.url, files=FILES), list[str](), Receipt("")
        for part in channel.prepare(given):
            receipt = receipt.following if receipt.also else await channel.send(part, 10.0)
            receipts.append(receipt.provider_id)
        await channel.close()
    return server.seen, receipts


@pytest.mark.requirement("content:telegram-files")
@pytest.mark.parametrize(
    ("files", "kinds"),
    [((PICTURE, PICTURE), ["photo", "photo"]), ((PICTURE, LOG), ["document", "document"])],
    ids=["pictures", "a picture and a file"],
)
async def test_text_and_several_files_are_one_album_with_a_caption(files: Any, kinds: list[str]) -> None:
    [one], receipts = await parts_sent(telegram_files_message(intent=Intent.REPLY, thread="55", attachments=files))

    media = json.loads(one.fields["media"])
    assert methods([one]) == ["sendMediaGroup"] and receipts == ["101", "102"]
    assert [each["type"] for each in media] == kinds
    assert [each.get("caption") for each in media] == ["the report", None]
    assert [each["media"] for each in media] == ["attach://file0", "attach://file1"]
    assert one.files["file0"].content == PNG
    assert one.files["file1"].content == (PNG if files[1] is PICTURE else b"one\ntwo\n")
    assert json.loads(one.fields["reply_parameters"]) == {"message_id": 55}


async def test_an_album_of_what_makes_no_pictures_is_sent_as_documents_at_once() -> None:
    def picky(seen: Seen) -> tuple[int, Any]:
        told = {"ok": False, "error_code": 400, "description": "Bad Request: PHOTO_INVALID_DIMENSIONS"}
        return (400, told) if "photo" in seen.fields["media"] else album(seen)

    seen, receipts = await parts_sent(telegram_files_message(attachments=(PICTURE, PICTURE)), picky)

    assert methods(seen) == ["sendMediaGroup"] * 2 and receipts == ["101", "102"]
    assert [one["type"] for one in json.loads(seen[1].fields["media"])] == ["document"] * 2


async def test_an_answer_that_does_not_name_every_file_leaves_doubt() -> None:
    with pytest.raises(OutcomeUncertain):
        await parts_sent(
            telegram_files_message(attachments=(PICTURE, LOG)), lambda seen: (200, {"ok": True, "result": [{}]})
        )


async def test_files_too_large_for_one_request_come_one_by_one() -> None:
    large = [FILES.hold(f"{place}.bin", bytes(30_000_000), "application/x-large") for place in range(2)]

    seen, _ = await parts_sent(telegram_files_message(attachments=tuple(large)), taken)

    assert methods(seen) == ["sendMessage", "sendDocument", "sendDocument"]


async def test_a_long_text_stands_before_its_file_and_the_limit_is_utf16() -> None:
    fits, too_long = "😀" * 512, "😀" * 513

    assert methods(await sent(telegram_files_message(text=fits, attachments=(LOG,)))) == ["sendDocument"]
    assert methods(await sent(telegram_files_message(text=too_long, attachments=(LOG,)))) == [
        "sendMessage",
        "sendDocument",
    ]


def test_the_mark_of_a_repetition_never_moves_a_part() -> None:
    channel = Telegram(TOKEN, files=FILES)
    for text, files in (("hi", (LOG,)), ("x" * 1024, (LOG,)), ("x" * 1025, (LOG,)), ("x" * 4096, (LOG, PICTURE))):
        plain = channel.prepare(telegram_files_message(text=text, attachments=files))
        again = channel.prepare(telegram_files_message(text=text, attachments=files, repeated=True))

        assert [one.files for one in again[: len(plain)]] == [one.files for one in plain]
        said = [body for one in again for body in (one.body, *one.body.get("media", []))]
        assert "".join(str(one.get("text", one.get("caption", ""))) for one in said).endswith(REPEAT_MARK)


def test_preparing_reads_nothing() -> None:
    before = FILES.reads
    Telegram(TOKEN, files=FILES).prepare(telegram_files_message(attachments=(PICTURE, LOG)))

    assert FILES.reads == before


async def test_too_large_for_the_server_is_said_plainly() -> None:
    told = {"ok": False, "error_code": 413, "description": "Request Entity Too Large"}

    with pytest.raises(ValidationError, match="no file of this size"):
        await sent(telegram_files_message(attachments=(LOG,)), lambda seen: (413, told))


async def test_a_refusal_that_quotes_the_name_is_not_repeated() -> None:
    told = {"ok": False, "error_code": 400, "description": f"Bad Request: {LOG.name} is odd"}

    with pytest.raises(ValidationError) as raised:
        await sent(telegram_files_message(attachments=(LOG,)), lambda seen: (400, told))

    assert LOG.name not in raised.value.message


async def test_a_file_that_cannot_be_read_leaves_no_doubt() -> None:
    class Away(HeldFiles):
        async def read(self, attachment: Any) -> bytes:
            raise StoreUnavailable("the files are away")

    async with recording(taken) as server:
        channel = Telegram(TOKEN, server.url, files=Away())
        [part] = channel.prepare(telegram_files_message(attachments=(LOG,)))
        with pytest.raises(StoreUnavailable):
            await channel.send(part, 10.0)
        await channel.close()

    assert server.seen == []


async def test_an_edit_goes_to_the_text_or_to_the_caption() -> None:
    def captioned(seen: Seen) -> tuple[int, Any]:
        words = "Bad Request: there is no text in the message to edit"
        return (400, {"ok": False, "error_code": 400, "description": words}) if "Text" in seen.path else taken(seen)

    revises = Revision(delivery_id=DeliveryId("d0"), provider_ids=("7", "8", "9"))
    texts = await sent(telegram_files_message(text="better", revises=replace(revises, files=2)))
    caption = await sent(
        telegram_files_message(text="better", revises=replace(revises, provider_ids=("7",), files=1)), captioned
    )

    assert [(one.json["message_id"], one.json["text"]) for one in texts] == [(7, "better")]
    assert methods(caption) == ["editMessageText", "editMessageCaption"]
    assert (caption[1].json["message_id"], caption[1].json["caption"]) == (7, "better")


async def test_what_an_album_brought_is_not_sent_again_after_a_crash_and_a_recall_deletes_what_is_known() -> None:
    async with recording(album) as server:
        channel = Telegram(TOKEN, server.url, files=FILES)
        _, brought = channel.prepare(telegram_files_message(attachments=(PICTURE, LOG)))
        receipt = await channel.send(brought, 10.0)
        known = ("101", receipt.provider_id)
        gone = channel.prepare(
            telegram_files_message(
                revises=Revision(delivery_id=DeliveryId("d0"), provider_ids=known, files=2, deletes=True)
            )
        )
        await channel.close()

    assert server.seen == []
    assert [one.body["message_id"] for one in gone] == [101]
