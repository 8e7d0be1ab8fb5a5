"""Spans with units."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from postroom.delivery.files.taking import MOST_DATA_BYTES, MOST_FILE_BYTES, check_fit, read_given, read_span
from postroom.kernel.values.errors import ValidationError
from postroom.message.channel import Capabilities


@pytest.mark.parametrize(
    ("text", "hours"), [("12h", 12), ("90d", 2160), ("4w", 672), (" 1D ", 24)], ids=["hours", "days", "weeks", "loose"]
)
def test_a_span_is_a_number_and_its_unit(text: str, hours: int) -> None:
    assert read_span(text) == hours * 3_600_000_000


@pytest.mark.parametrize("text", ["", "90", "d", "0d", "-1d", "1.5d", "90 days", "٣d", "1m", "9999999d"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="unit"):
        read_span(text)


SMALL = Capabilities(files=True, most_files=2, most_file_bytes=100, most_files_bytes=150)


@pytest.mark.requirement("content:files-limits-first")
@pytest.mark.parametrize(
    ("sizes", "can", "field", "code"),
    [
        ([1], Capabilities(), "attachments", "no_files"),
        ([1, 1, 1], SMALL, "attachments", "too_many_files"),
        ([1, 101], SMALL, "attachments[1]", "too_large"),
        ([100, 51], SMALL, "attachments", "too_large"),
        ([MOST_FILE_BYTES + 1], None, "attachments[0]", "too_large"),
        ([MOST_FILE_BYTES] * 3, None, "attachments", "too_large"),
        ([1] * 11, Capabilities(files=True), "attachments", "too_many_files"),
    ],
)
def test_too_much_is_refused_with_the_field(sizes: list[int], can: Capabilities | None, field: str, code: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        check_fit(sizes, "pigeon", can)

    assert [(one.field, one.code) for one in refusal.value.fields] == [(field, code)]


def test_what_fits_passes() -> None:
    check_fit([100, 50], "pigeon", SMALL)
    check_fit([], "pigeon", Capabilities())
    check_fit([MOST_FILE_BYTES], "auto", None)


UPLOAD = "01890a5d-ac96-774b-bcce-b302099a8057"


def test_each_names_one_source() -> None:
    read = read_given(
        [
            {"path": "a.txt", "name": "../b.txt"},
            {"upload_id": UPLOAD.upper(), "media_type": "Text/Plain; charset=utf-8"},
            {"data": base64.b64encode(b"hello").decode(), "name": "c.txt"},
        ]
    )

    assert [(one.path, one.upload_id, one.data, one.name, one.media_type) for one in read] == [
        ("a.txt", None, None, "b.txt", None),
        (None, UPLOAD, None, None, "text/plain"),
        (None, None, b"hello", "c.txt", None),
    ]


@pytest.mark.parametrize("nothing", [None, [], "", "null", "[]"])
def test_nothing_is_no_files(nothing: object) -> None:
    assert read_given(nothing) == ()


def test_a_list_as_json_text_is_a_list() -> None:
    assert read_given('[{"path": "a"}]')[0].path == "a"


@pytest.mark.requirement("content:files-one-source")
@pytest.mark.parametrize(
    ("wrong", "field", "code"),
    [
        ("a.txt", "attachments", "list_required"),
        ({"path": "a"}, "attachments", "list_required"),
        (["a.txt"], "attachments[0]", "object_required"),
        ([{"path": "a"}, {}], "attachments[1]", "one_source"),
        ([{"path": "a", "data": "YQ=="}], "attachments[0]", "one_source"),
        ([{"file": "a"}], "attachments[0].file", "unknown_field"),
        ([{"path": 7}], "attachments[0].path", "string_required"),
        ([{"path": "a\0b"}], "attachments[0].path", "invalid_text"),
        ([{"upload_id": "nonsense"}], "attachments[0].upload_id", "unknown_upload"),
        ([{"data": "###", "name": "a"}], "attachments[0].data", "base64_required"),
        ([{"data": "YQ=="}], "attachments[0].name", "required"),
        ([{"data": 7, "name": "a"}], "attachments[0].data", "base64_required"),
        ([{"path": "a", "media_type": "png"}], "attachments[0].media_type", "media_type_required"),
        ([{"path": "a"}] * 11, "attachments", "too_many_files"),
        (
            [{"data": base64.b64encode(b"x" * (MOST_DATA_BYTES + 1)).decode(), "name": "a"}],
            "attachments[0].data",
            "too_large",
        ),
    ],
)
def test_what_is_wrong_is_named_as_it_was_written(wrong: Any, field: str, code: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        read_given(wrong)

    assert (field, code) in [(one.field, one.code) for one in refusal.value.fields]
