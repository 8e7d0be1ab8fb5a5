"""Names of files that came from anybody."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.work.files.file_name import MAX_NAME_BYTES, clean_name, extension


@pytest.mark.parametrize(
    ("given_name", "name"),
    [
        ("report.pdf", "report.pdf"),
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\ann\\notes.txt", "notes.txt"),
        ("report\u202efdp.exe", "reportfdp.exe"),
        ("re\x00port\r\n.txt", "report .txt"),
        ("report.pdf.exe", "report.pdf.exe"),
        ("in\u200bvisible.png", "invisible.png"),
        ('a"b<c>.txt', "a_b_c_.txt"),
        ("...", "file"),
        ("", "file"),
        (".bashrc", "bashrc"),
        ("ü" * 200 + ".png", "ü" * 73 + ".png"),
    ],
)
def test_a_name_has_no_path_and_nothing_that_turns_it_around(given_name: str, name: str) -> None:
    assert clean_name(given_name) == name


@given(st.text(max_size=400))
def test_whatever_was_given_the_name_is_one_short_line_and_stays_as_it_is(text: str) -> None:
    name = clean_name(text)

    assert name and len(name.encode()) <= MAX_NAME_BYTES and clean_name(name) == name
    assert not {"/", "\\"} & set(name)
    assert not [one for one in name if unicodedata.category(one) in ("Cc", "Cf", "Cs")]


@pytest.mark.parametrize(("name", "last"), [("a.TXT", "txt"), ("a", ""), ("a.tar.gz", "gz"), (".x", "")])
def test_the_extension_is_what_comes_last(name: str, last: str) -> None:
    assert extension(name) == last
