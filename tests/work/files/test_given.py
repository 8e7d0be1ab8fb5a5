"""`attachments` as callers write them."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from postroom.domain.errors import ValidationError
from postroom.work.files.fit import MOST_DATA_BYTES
from postroom.work.files.given import read_given

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
