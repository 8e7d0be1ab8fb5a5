"""Rows as columns of text: every row comes out of the server as it went in, whatever is written in it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postroom.delivery.store.postgres import MARKS, columns, taking_apart

STATEMENT = taking_apart("SELECT * FROM unnest($1::text[], $2::text[], $3::int8[], $4::bool[], $5::float8[]) AS one")

texts = st.text(st.characters(exclude_characters="\x00", exclude_categories=("Cs",)), max_size=20)
rows = st.tuples(
    texts,  # as ours have an id: a row of nothing at all, and behind the others, would not come out
    texts | st.none() | st.sampled_from(["", "\x1f", "\x1e", "{}", '{"a","b"}', "NULL", "null", "\\", "'"]),
    st.integers(-(2**63), 2**63 - 1) | st.none(),
    st.booleans() | st.none(),
    st.floats(allow_nan=False) | st.none(),
)


@pytest.fixture
async def connection(postgres_url: str) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(postgres_url)
    yield connection
    await connection.close()


async def test_what_goes_in_comes_out(connection: Any) -> None:
    kept: list[list[tuple[Any, ...]]] = []

    @settings(max_examples=200, database=None, deadline=None)
    @given(st.lists(rows, min_size=1, max_size=8))
    def collect(made: list[tuple[Any, ...]]) -> None:
        kept.append(made)

    collect()
    for made in kept:
        found = await connection.fetch(STATEMENT, *columns(made), *MARKS)
        assert [tuple(row) for row in found] == made


@pytest.mark.parametrize("text", MARKS, ids=["between", "nothing"])
def test_a_text_that_holds_a_mark_is_refused_and_not_cut(text: str) -> None:
    with pytest.raises(ValueError, match="mark"):
        columns([(f"before{text}after",), ("another",)])


def test_no_rows_are_as_many_empty_columns_as_asked() -> None:
    assert columns([], 3) == ["", "", ""]


def test_the_marks_come_after_everything_else() -> None:
    assert taking_apart("$1::text[], $2::int4[], $3") == (
        "(string_to_array($1, $4, $5))[2:], (string_to_array($2, $4, $5))[2:]::int4[], $3"
    )


async def test_a_number_among_texts_shifts_nobody(connection: Any) -> None:
    statement = taking_apart("SELECT * FROM unnest($1::text[], $2::text[]) AS one")

    found = await connection.fetch(statement, *columns([("a", 1), ("b", "two"), ("c", None)]), *MARKS)

    assert [tuple(row) for row in found] == [("a", "1"), ("b", "two"), ("c", None)]
