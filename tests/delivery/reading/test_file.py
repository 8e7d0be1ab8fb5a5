"""Values from outside become questions to the record, or a sentence that says what would be right."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.delivery.reading.file import (
    RowPage,
    in_pages,
    read_choice,
    read_flag,
    read_limit,
    read_moment,
    read_page,
    read_reason,
    read_request_id,
    read_span,
    read_uuid,
    read_word,
)
from postroom.kernel.values.errors import ValidationError

ANYTHING: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
READERS = {
    "uuid": lambda value: read_uuid(value, "delivery_id"),
    "request id": read_request_id,
    "word": lambda value: read_word(value, "origin_butler"),
    "choice": lambda value: read_choice(value, "status", ["a", "b"]),
    "moment": lambda value: read_moment(value, "since"),
    "span": lambda value: read_span(value, value),
    "limit": read_limit,
    "flag": lambda value: read_flag(value, "accept_duplicate"),
    "reason": read_reason,
    "cursor": lambda value: read_page("delivery", None, value),
}


@pytest.mark.parametrize("name", READERS)
@given(value=ANYTHING)
def test_whatever_comes_is_read_or_refused_in_one_line_that_can_be_sent(name: str, value: Any) -> None:
    try:
        READERS[name](value)
    except ValidationError as error:
        assert error.message.encode()
        assert len(error.message.splitlines()) == 1
        assert len(error.message) < 300


@given(value=st.integers())
def test_a_limit_is_always_in_range(value: int) -> None:
    limit = read_limit(value)

    assert 1 <= limit <= 500
    assert limit == value or not 1 <= value <= 500


@given(ids=st.lists(st.uuids(), min_size=1, max_size=20, unique=True), limit=st.integers(1, 20))
def test_a_cursor_names_the_last_row_shown_and_only_its_own_list_reads_it(ids: list[Any], limit: int) -> None:
    rows = [{"id": str(one)} for one in ids]

    shown, cursor = in_pages("delivery", rows, RowPage(limit=limit), "id")

    assert shown == rows[:limit]
    assert (cursor is None) == (len(rows) <= limit)
    if cursor is not None:
        assert read_page("delivery", limit, cursor).before == shown[-1]["id"]
        with pytest.raises(ValidationError, match="Invalid cursor"):
            read_page("dead-letter", limit, cursor)


@pytest.mark.parametrize(
    ("text", "us"),
    [
        ("1970-01-01T00:00:01Z", 1_000_000),
        ("1970-01-01T01:00:00+01:00", 0),
        (" 1970-01-01T00:00:00.000001+00:00 ", 1),
        ("", None),
        (None, None),
    ],
)
def test_a_moment_is_read_with_its_offset(text: str | None, us: int | None) -> None:
    assert read_moment(text, "since") == us


def test_a_span_may_be_a_single_moment_but_not_upside_down() -> None:
    moment = "2026-01-01T00:00:00Z"

    since_us, until_us = read_span(moment, moment)

    assert since_us == until_us
    with pytest.raises(ValidationError, match="since is later than until"):
        read_span(moment, "2025-12-31T23:59:59Z")


def test_a_choice_is_refused_with_what_is_allowed() -> None:
    with pytest.raises(ValidationError) as refused:
        read_choice("se\u202end\n", "intent", ["send", "reply"])

    assert str(refused.value) == "Unknown intent 'se\\u202end\\n': it is one of send, reply"
