"""What holds for the files of every channel."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from hashlib import sha256
from io import BytesIO
from typing import Any

import pytest
import python_multipart
from hypothesis import given
from hypothesis import strategies as st
from tests.channels.recording_server import Recorder, recording

from postroom.channels.discord.channel import Discord
from postroom.channels.discord.gateway import inbound_event as discord_event
from postroom.channels.shared import FormFile, MultipartForm, check_files, form_of, plain_name, plain_type, read_file
from postroom.channels.slack.channel import Slack
from postroom.channels.slack.listening import inbound_event as slack_event
from postroom.channels.telegram.channel import Telegram
from postroom.channels.telegram.updates import listened
from postroom.kernel.values.errors import DeliveryTimeout, InternalError, TargetUnavailable, ValidationError
from postroom.kernel.values.ids import DeliveryId
from postroom.message.attachment import Attachment
from postroom.message.channel import BringsFiles, Capabilities
from postroom.message.delivery import Intent, Message
from postroom.message.inbound import InboundFile, InboundMessage
from postroom.testing.case import HeldFiles

FILES = HeldFiles()
ONE = FILES.hold("a.txt", b"four", "text/plain")
CAN = Capabilities(files=True, most_files=2, most_file_bytes=10, most_files_bytes=15)


def checked(*files: Attachment, intent: Intent = Intent.SEND, **more: Any) -> None:
    message = Message(delivery_id=DeliveryId("d1"), intent=intent, address="1", text="hi", attachments=files)
    check_files(message, CAN, FILES, **more)


def test_what_fits_is_taken() -> None:
    checked(ONE, replace(ONE, size=10))


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ((ONE, ONE, ONE), "at most 2"),
        ((ONE, replace(ONE, size=11)), r"attachments\[1\] has 11 bytes"),
        ((replace(ONE, size=8), replace(ONE, size=8)), "16 bytes together"),
        ((replace(ONE, size=0),), "is empty"),
    ],
)
def test_what_does_not_is_named_as_the_caller_wrote_it(files: tuple[Attachment, ...], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        checked(*files)


def test_a_reaction_carries_none_and_an_empty_one_goes_where_that_can_be() -> None:
    checked(replace(ONE, size=0), empty=True)
    with pytest.raises(ValidationError, match="reaction"):
        checked(ONE, intent=Intent.REACT)


@given(st.text(max_size=40))
def test_a_name_is_one_line_without_folders(name: str) -> None:
    shown = plain_name(replace(ONE, name=name))

    assert shown.isprintable() and shown.strip(".") and not {"/", "\\"} & set(shown)
    assert plain_name(replace(ONE, name=shown)) == shown


@pytest.mark.parametrize(
    ("given_type", "plain"),
    [("image/PNG", "image/png"), ("text/plain\r\nX: 1", "application/octet-stream"), ("", "application/octet-stream")],
)
def test_a_type_that_is_none_is_bytes(given_type: str, plain: str) -> None:
    assert plain_type(replace(ONE, media_type=given_type)) == plain


async def test_bytes_that_are_not_what_was_handed_in_are_not_sent() -> None:
    assert await read_file(FILES, ONE, 1.0) == b"four"
    with pytest.raises(InternalError):
        await read_file(FILES, replace(ONE, size=5), 1.0)


async def test_a_store_that_does_not_answer_ends_the_call_before_it_began() -> None:
    class Slow(HeldFiles):
        async def read(self, attachment: Attachment) -> bytes:
            await asyncio.Event().wait()
            return b""

    with pytest.raises(DeliveryTimeout):
        await read_file(Slow(), ONE, 0.01)


PNG = b"\x89PNG\r\n\x1a\n"
CHAT = {"chat": {"id": 5, "type": "private"}, "from": {"id": 5, "is_bot": False}, "date": 1}
PHOTO = [
    {"file_id": "small", "width": 90, "height": 90, "file_size": 10},
    {"file_id": "large", "width": 1280, "height": 960, "file_size": 8},
    {"file_id": "middle", "width": 320, "height": 240, "file_size": 9},
]
ANSWERS: dict[str, Any] = {
    "/bot1:abc/getFile": {"ok": True, "result": {"file_id": "large", "file_path": "photos/file 7.jpg"}},
    "/file/bot1:abc/photos/file 7.jpg": PNG,
    "/files-pri/T1-F1/bill.png": PNG,
    "/api/files.info": {"ok": True, "file": {"id": "F2", "name": "seen.png", "size": 8}},
    "/attachments/1/2/bild.png": PNG,
}


@asynccontextmanager
async def provider(**changes: tuple[int, Any]) -> AsyncIterator[Recorder]:
    async with recording(lambda seen: changes.get(seen.path, (200, ANSWERS.get(seen.path, b"")))) as server:
        yield server


def written(**parts: Any) -> InboundMessage:
    [event] = listened("telegram", [{"update_id": 1, "message": {"message_id": 3, **CHAT, **parts}}]).events
    assert isinstance(event, InboundMessage)
    return event


async def brought(channel: Telegram | Slack | Discord, message: InboundMessage) -> list[InboundFile]:
    assert isinstance(channel, BringsFiles)
    try:
        return list(await channel.bring_files(message, 10.0))
    finally:
        await channel.close()


@pytest.mark.requirement("content:files-from-people")
async def test_of_a_photo_the_largest_is_fetched_and_its_caption_is_the_text() -> None:
    message = written(photo=PHOTO, caption="the bill")
    async with provider() as server:
        [file] = await brought(Telegram("1:abc", server.url), message)

    assert (message.text, file.content, file.name) == ("the bill", PNG, "photo.jpg")
    assert server.seen[0].json == {"file_id": "large"}


SENT: dict[str, tuple[dict[str, Any], str]] = {
    "voice": ({"voice": {"file_id": "v", "mime_type": "audio/ogg"}}, "voice.ogg"),
    "audio": ({"audio": {"file_id": "a", "file_name": "song.mp3"}}, "song.mp3"),
    "video": ({"video": {"file_id": "w", "mime_type": "video/mp4"}}, "video.mp4"),
    "video note": ({"video_note": {"file_id": "n"}}, "video_note"),
    "document": ({"document": {"file_id": "d", "file_name": "a.pdf"}}, "a.pdf"),
    "animation": ({"animation": {"file_id": "g", "file_name": "g.mp4"}, "document": {"file_id": "g"}}, "g.mp4"),
    "sticker": ({"sticker": {"file_id": "s", "emoji": "👍"}}, "sticker"),
}


@pytest.mark.requirement("content:files-from-people")
@pytest.mark.parametrize(("parts", "name"), SENT.values(), ids=SENT)
def test_whatever_is_sent_to_the_bot_is_offered(parts: dict[str, Any], name: str) -> None:
    assert [one.name for one in written(**parts).offers] == [name]


@pytest.mark.requirement("content:files-from-people-told")
async def test_what_telegram_gives_to_no_bot_is_said() -> None:
    too_large = {"ok": False, "error_code": 400, "description": "Bad Request: file is too big"}
    async with provider(**{"/bot1:abc/getFile": (400, too_large)}) as server:
        [known] = await brought(Telegram("1:abc", server.url), written(video={"file_id": "w", "file_size": 21 * 2**20}))
        [found] = await brought(Telegram("1:abc", server.url), written(video={"file_id": "w"}))

    assert known.problem == found.problem == "it is larger than the 20 MB that Telegram gives to a bot"
    assert len(server.seen) == 1


@pytest.mark.requirement("content:files-from-people")
def test_photos_that_are_sent_together_are_one_message() -> None:
    updates = [
        {"update_id": number, "message": {"message_id": number, "media_group_id": group, **CHAT, **parts}}
        for number, group, parts in [
            (1, "a", {"photo": PHOTO}),
            (2, "a", {"photo": PHOTO, "caption": "both"}),
            (3, "b", {"photo": PHOTO}),
        ]
    ]
    heard = listened("telegram", updates)
    messages = [one for one in heard.events if isinstance(one, InboundMessage)]

    assert [(one.text, len(one.offers), one.message_id) for one in messages] == [("both", 2, "1"), (None, 1, "3")]
    assert heard.position == 4


def of_slack(url: str, **file: Any) -> InboundMessage:
    given = {"id": "F1", "name": "bill.png", "size": 8, "url_private": f"{url}/files-pri/T1-F1/bill.png", **file}
    event = {"type": "message", "subtype": "file_share", "channel": "D123", "channel_type": "im", "user": "U123"}
    event |= {"ts": "1700000000.000100", "text": "", "files": [given]}
    found = slack_event("slack", {"type": "events_api", "payload": {"event": event}})
    assert isinstance(found, InboundMessage)
    return found


def slack(url: str) -> Slack:
    return Slack("slack", "xoxb-1-token", "xapp-1-token", f"{url}/api")


@pytest.mark.requirement("content:files-from-people")
async def test_slacks_files_are_fetched_with_the_bots_token_from_slack_alone() -> None:
    async with provider() as server:
        [file] = await brought(slack(server.url), of_slack(server.url))
        [other] = await brought(slack(server.url), of_slack(server.url, url_private="https://evil.example/x"))
        [torn] = await brought(slack(server.url), of_slack(server.url, url_private="https://[evil"))

    assert (file.content, file.name) == (PNG, "bill.png")
    assert server.seen[0].headers["Authorization"] == "Bearer xoxb-1-token"
    assert other.content is torn.content is None and len(server.seen) == 1
    assert other.problem == torn.problem == "it lies at another service"


@pytest.mark.requirement("content:files-from-people-told")
async def test_a_page_to_log_in_is_no_file() -> None:
    page = b"<!DOCTYPE html><html>Sign in"
    async with provider(**{"/files-pri/T1-F1/bill.png": (200, page)}) as server:
        [file] = await brought(slack(server.url), of_slack(server.url))
    async with provider(**{"/files-pri/T1-F1/bill.png": (302, b"")}) as server:
        [sent_on] = await brought(slack(server.url), of_slack(server.url))

    assert "files:read" in file.problem and "Slack did not hand it out (302)" in sent_on.problem


@pytest.mark.requirement("content:files-from-people")
async def test_discords_files_are_fetched_without_our_token() -> None:
    async with provider() as server:
        attached = {"filename": "bild.png", "size": 8, "url": f"{server.url}/attachments/1/2/bild.png?ex=1&hm=2"}
        told = {"id": "1000", "channel_id": "2000", "type": 0, "content": "", "attachments": [attached]}
        told |= {"author": {"id": "3000"}, "channel_type": 1}
        message = discord_event("discord", "MESSAGE_CREATE", told, "9")
        assert isinstance(message, InboundMessage)
        [file] = await brought(Discord("discord", "a.b.c", f"{server.url}/api/v10"), message)

    assert (file.content, file.name) == (PNG, "bild.png")
    assert "Authorization" not in server.seen[0].headers


async def test_a_provider_that_is_away_is_not_the_files_fault() -> None:
    async with provider(**{"/files-pri/T1-F1/bill.png": (503, b"")}) as server:
        with pytest.raises(TargetUnavailable):
            await brought(slack(server.url), of_slack(server.url))


def file(name: str, content: bytes, form_field: str = "document") -> FormFile:
    digest = sha256(content).hexdigest()
    return FormFile(form_field=form_field, name=name, media_type="text/plain", sha256=digest, content=content)


def taken_apart(form: MultipartForm) -> tuple[dict[str, bytes], dict[str, tuple[bytes, bytes]]]:
    fields: dict[str, bytes] = {}
    files: dict[str, tuple[bytes, bytes]] = {}

    def keep(one: Any) -> None:
        one.file_object.seek(0)
        files[one.field_name.decode()] = (one.file_name, one.file_object.read())

    headers = {"Content-Type": form.content_type.encode(), "Content-Length": str(len(form.content)).encode()}
    python_multipart.parse_form(
        headers, BytesIO(form.content), lambda one: fields.update({one.field_name.decode(): one.value}), keep
    )
    return fields, files


@given(st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=80), st.binary(max_size=300))
def test_every_name_and_every_byte_comes_out_as_it_went_in(name: str, content: bytes) -> None:
    fields, files = taken_apart(form_of({"chat_id": "5", "caption": name}, [file(name, content)]))

    assert fields == {"chat_id": b"5", "caption": name.encode()}
    assert files["document"][1] == content
    assert files["document"][0].decode() == name


def test_a_name_ends_no_header() -> None:
    form = form_of({}, [file('a"\r\nX-Evil: 1\r\n\r\n', b"x")])

    assert b"\r\nX-Evil" not in form.content


def test_the_same_things_make_the_same_bytes_and_others_do_not() -> None:
    one, other = form_of({"a": "1"}, [file("n", b"x")]), form_of({"a": "1"}, [file("n", b"y")])

    assert one == form_of({"a": "1"}, [file("n", b"x")])
    assert one.content_type != other.content_type


def test_a_file_that_holds_another_forms_bytes_stays_whole() -> None:
    inner = form_of({"a": "1"}, [file("n", b"x")]).content

    _, files = taken_apart(form_of({"a": "1"}, [file("n", inner)]))

    assert files["document"][1] == inner
