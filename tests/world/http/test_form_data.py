"""A form, taken apart by another library."""

from __future__ import annotations

from hashlib import sha256
from io import BytesIO
from typing import Any

import python_multipart
from hypothesis import given
from hypothesis import strategies as st

from postroom.world.http.form_data import FormFile, MultipartForm, form_of


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
