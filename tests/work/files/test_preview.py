"""What a person sees of a file before deciding on it."""

from __future__ import annotations

from postroom.work.files.preview import MOST_PREVIEW_CHARACTERS, preview, shown_as_picture


def test_a_text_is_shown_from_its_beginning_and_bounded() -> None:
    assert preview(b"short", "text/plain") == "short"
    assert preview("ä".encode() * 10_000, "text/plain") == "ä" * MOST_PREVIEW_CHARACTERS + "…"


def test_other_bytes_are_dumped_as_text() -> None:
    assert preview(b"PK\x03\x04<script>", "application/zip").endswith("PK..<script>")
    assert preview(b"\x00" * 1000, "application/octet-stream").endswith("\n…")
    assert preview(b"\x89PNG\r\n\x1a\n", "image/png") == ""


def test_only_a_picture_by_its_bytes_is_shown_as_one() -> None:
    assert shown_as_picture(b"\x89PNG\r\n\x1a\n\x00") == "image/png"
    assert shown_as_picture(b"<svg onload=alert(1)>") is None
    assert shown_as_picture(b"PK\x03\x04") is None
