"""CSV that any reader reads back as it was written, and that no spreadsheet runs."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.doors.console.csv_text import Cell, csv_cell, csv_line, harmless, moment_cell

TEXTS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"))
CELLS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
DANGEROUS = "=+-@\t\r"


def read(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline=""), strict=True))


def plain(cell: Cell) -> str:
    match cell:
        case None:
            return ""
        case bool():
            return "yes" if cell else "no"
        case str():
            return harmless(cell)
        case _:
            return str(cell)


@pytest.mark.requirement("side:export-is-harmless")
@given(st.lists(st.lists(CELLS, min_size=2, max_size=5), min_size=1))
def test_a_reader_finds_every_cell_as_it_was_written(rows: list[list[Cell]]) -> None:
    assert read("".join(csv_line(row) for row in rows)) == [[plain(cell) for cell in row] for row in rows]


@pytest.mark.requirement("side:export-is-harmless")
@given(TEXTS)
def test_no_text_begins_as_a_formula_does(text: str) -> None:
    written = harmless(text)

    assert not written.lstrip(" \u00a0\u200b\ufeff").startswith(tuple(DANGEROUS))
    assert written in (text, f"'{text}")


@given(st.sampled_from(DANGEROUS), TEXTS)
def test_what_could_be_a_formula_is_marked_as_text(first: str, rest: str) -> None:
    assert harmless(first + rest) == f"'{first}{rest}"


@pytest.mark.parametrize("text", [" =1+1", "\u200b=1+1", "\ufeff@SUM(A1)", "\uff1dHYPERLINK()", "\n=1"])
def test_a_formula_does_not_hide_behind_what_is_not_seen(text: str) -> None:
    assert harmless(text).startswith("'")


@pytest.mark.parametrize("text", ["", "hello", "a=b", "1-2", "anna@example.org", "   ", "'=1"])
def test_what_is_no_formula_is_left_alone(text: str) -> None:
    assert harmless(text) == text


@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_stays_a_number(value: float) -> None:
    written = csv_cell(value)

    assert not written.startswith("'") and '"' not in written
    assert type(value)(written) == value


@given(TEXTS, st.sampled_from(";\t|,"))
def test_no_other_separator_splits_a_text(text: str, separator: str) -> None:
    """A spreadsheet in another country separates by semicolons."""
    line = csv_line([f"a{separator}={text}"]).removesuffix("\r\n")

    assert [*csv.reader(io.StringIO(line, newline=""), delimiter=separator, strict=True)] == [[f"a{separator}={text}"]]


def test_times_are_in_utc_and_nothing_stays_empty() -> None:
    assert (moment_cell(0), moment_cell(None), csv_cell(None)) == ("1970-01-01T00:00:00.000000Z", None, "")
