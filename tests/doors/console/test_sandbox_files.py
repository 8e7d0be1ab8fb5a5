"""Files on the sandbox's page: shown by what they are, never by what was said of them."""

from __future__ import annotations

import pytest

from postroom.doors.console.sandbox_files import file_answer, shown_files, size_words


def test_a_picture_is_shown_and_anything_else_is_only_saved() -> None:
    picture, page = file_answer(b"\x89PNG\r\n\x1a\n..."), file_answer(b"<script>alert(1)</script>")

    assert (picture.media_type, picture.headers["Content-Disposition"]) == ("image/png", "inline")
    assert (page.media_type, page.headers["Content-Disposition"]) == ("application/octet-stream", "attachment")


def test_a_listing_without_files_shows_none() -> None:
    listed = {"name": "a.svg", "media_type": "image/svg+xml", "size": 3, "sha256": "00"}

    assert shown_files({}) == []
    assert [one.is_picture for one in shown_files({"attachments": [listed]})] == [False]


@pytest.mark.parametrize(
    ("size", "words"), [(1, "1 byte"), (999, "999 bytes"), (1_500, "1.5 kB"), (18_000_000, "18.0 MB")]
)
def test_sizes_are_said_shortly(size: int, words: str) -> None:
    assert size_words(size) == words
