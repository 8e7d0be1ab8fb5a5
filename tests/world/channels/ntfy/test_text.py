"""Texts in pieces that stay messages."""

from __future__ import annotations

import pytest

from postroom.world.channels.ntfy.text import MESSAGE_BYTES, parts_of, title_of, written_length


@pytest.mark.parametrize("text", ["a" * 9000, "ü" * 9000, "🫖" * 3000, '"' * 9000, "\\\n" * 5000])
def test_no_part_becomes_a_file_or_more_json_than_is_read(text: str) -> None:
    parts = parts_of(text, repeated=True)
    assert all(len(part.encode()) <= MESSAGE_BYTES for part in parts)
    assert all(written_length(part) <= 5_100 for part in parts)


def test_a_text_that_fits_is_left_alone() -> None:
    assert parts_of(" as\nit is ") == [" as\nit is "]
    assert [len(part) for part in parts_of("a" * 4096)] == [4095, 1]


def test_what_json_writes_longer_leaves_no_scraps_between_the_parts() -> None:
    lengths = [len(part.encode()) for part in parts_of('ä🫖"\\ ' * 2500)]
    assert len(lengths) == 7
    assert min(lengths[:-1]) > 3_500


def test_a_title_is_one_short_line() -> None:
    assert title_of("two\n lines") == "two lines"
    assert len(title_of("ü" * 500).encode()) <= 250
