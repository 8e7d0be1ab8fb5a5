"""Files at Discord: one form with the message, read by a server of another make."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.world.channels.recording_server import Seen, recording

from postroom.domain.delivery import REPEAT_MARK, Intent, Message
from postroom.domain.errors import ValidationError
from postroom.domain.ids import DeliveryId
from postroom.testing.held_files import HeldFiles
from postroom.world.channels.discord.channel import Discord

FILES = HeldFiles()
PNG = FILES.hold("bild.png", b"\x89PNG\r\n\r\n", "image/png")
LOG = FILES.hold('Prüf "lauf".log', b"one\n", "text/plain")


def message(**changes: Any) -> Message:
    fields: dict[str, Any] = {"delivery_id": DeliveryId("d1"), "intent": Intent.SEND, "address": "1000"}
    return Message(**(fields | {"text": "the report", "attachments": (PNG, LOG)} | changes))


async def sent(given: Message, answer: tuple[int, Any] = (200, {"id": "77"}), tries: int = 1) -> list[Seen]:
    async with recording(lambda seen: answer) as server:
        channel = Discord("discord", "a.b.c", server.url, files=FILES)
        try:
            for part in channel.prepare(given):
                for _ in range(tries):
                    await channel.send(part, 10.0)
        finally:
            await channel.close()
    return server.seen


@pytest.mark.requirement("content:discord-files")
async def test_the_message_and_its_files_are_one_request() -> None:
    [one] = await sent(message(repeated=True))

    told = json.loads(one.fields["payload_json"])
    assert told["content"].startswith("the report") and REPEAT_MARK.strip("()") in told["content"]
    assert told["attachments"] == [{"id": 0, "filename": PNG.name}, {"id": 1, "filename": LOG.name}]
    assert told["enforce_nonce"] is True and told["allowed_mentions"]["parse"] == []
    assert {name: (file.name, file.media_type, file.content) for name, file in one.files.items()} == {
        "files[0]": (PNG.name, "image/png", b"\x89PNG\r\n\r\n"),
        "files[1]": (LOG.name, "text/plain", b"one\n"),
    }
    assert one.headers["Authorization"] == "Bot a.b.c"


async def test_they_stand_under_the_last_part_of_a_long_text() -> None:
    first, last = await sent(message(text="word " * 600))

    assert "attachments" not in first.json
    assert list(last.files) == ["files[0]", "files[1]"]


async def test_a_second_try_has_the_same_nonce_and_the_same_bytes() -> None:
    first, second = await sent(message(), tries=2)

    assert (first.fields, first.files) == (second.fields, second.files)


async def test_too_large_is_said_plainly() -> None:
    with pytest.raises(ValidationError, match="too large"):
        await sent(message(), (413, {"code": 40005, "message": "Request entity too large"}))
