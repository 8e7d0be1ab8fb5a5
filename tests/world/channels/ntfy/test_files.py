"""Files at an ntfy server: each a notification of its own, with what it says in headers."""

from __future__ import annotations

from email.header import decode_header, make_header
from typing import Any

import pytest
from tests.world.channels.recording_server import Seen, recording

from postroom.domain.delivery import REPEAT_MARK, Intent, Message
from postroom.domain.ids import DeliveryId
from postroom.domain.markup import Revision
from postroom.testing.held_files import HeldFiles
from postroom.world.channels.ntfy.channel import Ntfy
from postroom.world.channels.ntfy.kept import found

FILES = HeldFiles()
PNG = FILES.hold('Prüf "bild" eins zwei drei vier fünf sechs sieben acht.png', b"\x89PNG\r\n\r\n", "image/png")
LOG = FILES.hold("run.log", b"one\n", "text/plain")


def message(**changes: Any) -> Message:
    fields: dict[str, Any] = {"delivery_id": DeliveryId("d1"), "intent": Intent.SEND, "address": "kitchen"}
    return Message(**(fields | {"text": "the report", "subject": "Größe", "attachments": (PNG, LOG)} | changes))


async def sent(given: Message) -> list[Seen]:
    async with recording(lambda seen: (200, {"id": "abc", "event": "message"})) as server:
        channel = Ntfy("ntfy", server.url, "tk_1", files=FILES)
        try:
            for part in channel.prepare(given):
                await channel.send(part, 10.0)
        finally:
            await channel.close()
    return server.seen


def said(seen: Seen, name: str) -> str:
    return str(make_header(decode_header(seen.headers[name])))


@pytest.mark.requirement("content:ntfy-files")
async def test_each_file_is_put_to_the_topic_after_the_text() -> None:
    text, picture, log = await sent(message())

    assert (text.method, text.json["message"]) == ("POST", "the report")
    assert [(one.method, one.path, one.content) for one in (picture, log)] == [
        ("PUT", "/kitchen", b"\x89PNG\r\n\r\n"),
        ("PUT", "/kitchen", b"one\n"),
    ]
    assert (said(picture, "Filename"), said(picture, "X-Title")) == (PNG.name, "Größe")
    assert picture.headers["Filename"].isascii()
    assert (log.headers["Filename"], log.headers["Authorization"]) == ("run.log", "Bearer tk_1")
    names = [text.json["sequence_id"], picture.headers["X-Sequence-ID"], log.headers["X-Sequence-ID"]]
    assert len(set(names)) == 3


async def test_the_last_of_a_repetition_is_marked() -> None:
    text, picture, log = await sent(message(repeated=True))

    assert said(log, "X-Message") == f"run.log {REPEAT_MARK}"
    assert REPEAT_MARK not in said(picture, "X-Message")
    assert REPEAT_MARK in text.json["message"]


def test_what_arrived_is_found_again_by_its_name() -> None:
    part = Ntfy("ntfy", files=FILES).prepare(message())[1]
    kept = {"event": "message", "id": "x1", "sequence_id": part.sequence_id, "message": part.text}

    receipt = found(part, [kept])

    assert receipt is not None and receipt.provider_id == "x1"
    assert found(part, [kept | {"sequence_id": "other"}]) is None


def test_an_edit_leaves_the_files_alone() -> None:
    revises = Revision(delivery_id=DeliveryId("d0"), provider_ids=("a", "b", "c"), files=2)

    [one] = Ntfy("ntfy").prepare(message(text="better", revises=revises))

    assert one.text == "better"
