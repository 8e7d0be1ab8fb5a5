"""Files at Telegram, read by a server of another make."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.world.channels.recording_server import Recorder, Seen, recording

from postroom.domain.delivery import REPEAT_MARK, Format, Intent, Message, Receipt
from postroom.domain.errors import OutcomeUncertain, StoreUnavailable, ValidationError
from postroom.domain.ids import DeliveryId
from postroom.domain.markup import Button, Markup, Revision
from postroom.testing.held_files import HeldFiles
from postroom.world.channels.telegram import Telegram

TOKEN = "4242:canary"
PNG = b"\x89PNG\r\n\x1a\n" + b"\r\n--postroom" * 40
FILES = HeldFiles()
LOG = FILES.hold('Prüf "bericht" – 7 %.log', b"one\ntwo\n", "text/plain")
PICTURE = FILES.hold("bild.png", PNG, "image/png")


def message(**changes: Any) -> Message:
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
    [one] = await sent(message(attachments=(LOG,)))

    assert methods([one]) == ["sendDocument"]
    assert one.fields == {"chat_id": "4711", "caption": "the report", "disable_content_type_detection": "true"}
    [file] = one.files.values()
    assert (file.name, file.media_type, file.content) == (LOG.name, "text/plain", b"one\ntwo\n")
    assert list(one.files) == ["document"]


async def test_a_picture_goes_as_a_photo_whatever_its_bytes_are() -> None:
    [one] = await sent(message(attachments=(PICTURE,)))

    assert methods([one]) == ["sendPhoto"]
    assert one.files["photo"].content == PNG


async def test_a_large_picture_is_a_document() -> None:
    large = FILES.hold("large.jpg", b"j" * 10_000_001, "image/jpeg")

    [one] = await sent(message(attachments=(large,)))

    assert methods([one]) == ["sendDocument"]
    assert one.files["document"].content == b"j" * 10_000_001


@pytest.mark.parametrize("code", ["PHOTO_INVALID_DIMENSIONS", "IMAGE_PROCESS_FAILED"])
async def test_what_telegram_makes_no_picture_of_is_sent_as_a_document_at_once(code: str) -> None:
    def picky(seen: Seen) -> tuple[int, Any]:
        told = {"ok": False, "error_code": 400, "description": f"Bad Request: {code}"}
        return (400, told) if seen.path.endswith("sendPhoto") else taken(seen)

    seen = await sent(message(attachments=(PICTURE,)), picky)

    assert methods(seen) == ["sendPhoto", "sendDocument"]
    assert seen[1].fields["caption"] == "the report"
    assert seen[1].files["document"].content == PNG


async def test_markdown_in_a_caption_is_entities_and_has_no_preview() -> None:
    [one] = await sent(message(text="the **report**", format=Format.MARKDOWN, attachments=(LOG,)))

    assert json.loads(one.fields["caption_entities"]) == [{"type": "bold", "offset": 4, "length": 6}]
    assert "link_preview_options" not in one.fields
    assert "parse_mode" not in one.fields


async def test_several_files_come_after_the_text_each_with_a_receipt() -> None:
    numbers = iter(range(1, 9))
    markup = Markup(buttons=((Button(label="Open", token="t1"),),))
    async with recording(lambda seen: (200, {"ok": True, "result": {"message_id": next(numbers)}})) as server:
        given = message(intent=Intent.REPLY, thread="55", attachments=(PICTURE, LOG), markup=markup)
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
    [one], receipts = await parts_sent(message(intent=Intent.REPLY, thread="55", attachments=files))

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

    seen, receipts = await parts_sent(message(attachments=(PICTURE, PICTURE)), picky)

    assert methods(seen) == ["sendMediaGroup"] * 2 and receipts == ["101", "102"]
    assert [one["type"] for one in json.loads(seen[1].fields["media"])] == ["document"] * 2


async def test_an_answer_that_does_not_name_every_file_leaves_doubt() -> None:
    with pytest.raises(OutcomeUncertain):
        await parts_sent(message(attachments=(PICTURE, LOG)), lambda seen: (200, {"ok": True, "result": [{}]}))


async def test_files_too_large_for_one_request_come_one_by_one() -> None:
    large = [FILES.hold(f"{place}.bin", bytes(30_000_000), "application/x-large") for place in range(2)]

    seen, _ = await parts_sent(message(attachments=tuple(large)), taken)

    assert methods(seen) == ["sendMessage", "sendDocument", "sendDocument"]


async def test_a_long_text_stands_before_its_file_and_the_limit_is_utf16() -> None:
    fits, too_long = "😀" * 512, "😀" * 513

    assert methods(await sent(message(text=fits, attachments=(LOG,)))) == ["sendDocument"]
    assert methods(await sent(message(text=too_long, attachments=(LOG,)))) == ["sendMessage", "sendDocument"]


def test_the_mark_of_a_repetition_never_moves_a_part() -> None:
    channel = Telegram(TOKEN, files=FILES)
    for text, files in (("hi", (LOG,)), ("x" * 1024, (LOG,)), ("x" * 1025, (LOG,)), ("x" * 4096, (LOG, PICTURE))):
        plain = channel.prepare(message(text=text, attachments=files))
        again = channel.prepare(message(text=text, attachments=files, repeated=True))

        assert [one.files for one in again[: len(plain)]] == [one.files for one in plain]
        said = [body for one in again for body in (one.body, *one.body.get("media", []))]
        assert "".join(str(one.get("text", one.get("caption", ""))) for one in said).endswith(REPEAT_MARK)


async def test_a_second_try_is_byte_for_byte_the_first() -> None:
    async with recording(taken) as server:
        channel = Telegram(TOKEN, server.url, files=FILES)
        [part] = channel.prepare(message(attachments=(PICTURE,)))
        for _ in range(2):
            await channel.send(part, 10.0)
        await channel.close()

    assert server.seen[0].headers["Content-Type"] == server.seen[1].headers["Content-Type"]
    assert server.seen[0].files == server.seen[1].files


def test_preparing_reads_nothing() -> None:
    before = FILES.reads
    Telegram(TOKEN, files=FILES).prepare(message(attachments=(PICTURE, LOG)))

    assert FILES.reads == before


async def test_too_large_for_the_server_is_said_plainly() -> None:
    told = {"ok": False, "error_code": 413, "description": "Request Entity Too Large"}

    with pytest.raises(ValidationError, match="no file of this size"):
        await sent(message(attachments=(LOG,)), lambda seen: (413, told))


async def test_a_refusal_that_quotes_the_name_is_not_repeated() -> None:
    told = {"ok": False, "error_code": 400, "description": f"Bad Request: {LOG.name} is odd"}

    with pytest.raises(ValidationError) as raised:
        await sent(message(attachments=(LOG,)), lambda seen: (400, told))

    assert LOG.name not in raised.value.message


async def test_a_file_that_cannot_be_read_leaves_no_doubt() -> None:
    class Away(HeldFiles):
        async def read(self, attachment: Any) -> bytes:
            raise StoreUnavailable("the files are away")

    async with recording(taken) as server:
        channel = Telegram(TOKEN, server.url, files=Away())
        [part] = channel.prepare(message(attachments=(LOG,)))
        with pytest.raises(StoreUnavailable):
            await channel.send(part, 10.0)
        await channel.close()

    assert server.seen == []


async def test_an_edit_goes_to_the_text_or_to_the_caption() -> None:
    def captioned(seen: Seen) -> tuple[int, Any]:
        words = "Bad Request: there is no text in the message to edit"
        return (400, {"ok": False, "error_code": 400, "description": words}) if "Text" in seen.path else taken(seen)

    revises = Revision(delivery_id=DeliveryId("d0"), provider_ids=("7", "8", "9"))
    texts = await sent(message(text="better", revises=replace(revises, files=2)))
    caption = await sent(message(text="better", revises=replace(revises, provider_ids=("7",), files=1)), captioned)

    assert [(one.json["message_id"], one.json["text"]) for one in texts] == [(7, "better")]
    assert methods(caption) == ["editMessageText", "editMessageCaption"]
    assert (caption[1].json["message_id"], caption[1].json["caption"]) == (7, "better")


async def test_what_an_album_brought_is_not_sent_again_after_a_crash_and_a_recall_deletes_what_is_known() -> None:
    async with recording(album) as server:
        channel = Telegram(TOKEN, server.url, files=FILES)
        _, brought = channel.prepare(message(attachments=(PICTURE, LOG)))
        receipt = await channel.send(brought, 10.0)
        known = ("101", receipt.provider_id)
        gone = channel.prepare(
            message(revises=Revision(delivery_id=DeliveryId("d0"), provider_ids=known, files=2, deletes=True))
        )
        await channel.close()

    assert server.seen == []
    assert [one.body["message_id"] for one in gone] == [101]
