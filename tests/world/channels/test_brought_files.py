"""What people send on each channel is fetched as its provider hands it out, and what cannot be had has its words."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.world.channels.recording_server import Recorder, recording

from postroom.domain.errors import TargetUnavailable
from postroom.domain.inbound_message import InboundFile, InboundMessage
from postroom.domain.ports import BringsFiles
from postroom.world.channels.discord.channel import Discord
from postroom.world.channels.discord.events import inbound_event as discord_event
from postroom.world.channels.slack.channel import Slack
from postroom.world.channels.slack.events import inbound_event as slack_event
from postroom.world.channels.telegram import Telegram
from postroom.world.channels.telegram_updates import listened

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
