"""What holds for the files of every channel."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.domain.attachment import Attachment
from postroom.domain.capabilities import Capabilities
from postroom.domain.delivery import Intent, Message
from postroom.domain.errors import DeliveryTimeout, InternalError, ValidationError
from postroom.domain.ids import DeliveryId
from postroom.testing.held_files import HeldFiles
from postroom.world.channels.carried_files import check_files, plain_name, plain_type, read_file

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
