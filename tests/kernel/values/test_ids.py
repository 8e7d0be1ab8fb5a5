"""Ids: in the order they were minted, whatever the clock does."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.kernel.values.ids import (
    IdMint,
    altered,
    first_id_at,
    is_uuid,
    moment_of,
    parse_text,
    record,
    to_datetime,
    to_text,
    to_us,
)


@given(st.lists(st.integers(0, 2**55), min_size=2, max_size=50))
def test_ids_sort_in_the_order_they_were_minted_even_if_the_clock_is_set_back(moments: list[int]) -> None:
    mint = IdMint()

    minted = [mint.mint(moment) for moment in moments]

    assert minted == sorted(set(minted))


def test_an_id_is_a_uuid_of_version_seven_that_carries_its_time() -> None:
    parsed = uuid.UUID(IdMint().mint(1_767_225_600_123_456))

    assert (parsed.version, parsed.variant, parsed.int >> 80) == (7, uuid.RFC_4122, 1_767_225_600_123)


def test_threads_never_mint_the_same() -> None:
    mint = IdMint()
    with ThreadPoolExecutor(8) as pool:
        minted = list(pool.map(lambda _: mint.mint(1), range(5000)))

    assert len(set(minted)) == 5000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("01a3185c-5000-7591-9750-66997fa16f06", True),
        ("01A3185C-5000-7591-9750-66997FA16F06", True),
        ("01a3185c50007591975066997fa16f06", False),
        ("01a3185c-5000-7591-9750-66997fa16f06\n", False),
        ("", False),
    ],
)
def test_a_uuid_is_told_from_other_text(text: str, expected: bool) -> None:
    assert is_uuid(text) is expected


@given(st.integers(0, 2**48 - 1))
def test_an_id_tells_when_it_was_minted(milliseconds: int) -> None:
    assert moment_of(IdMint().mint(milliseconds * 1000)) == milliseconds * 1000


@given(st.integers(-(2**55), 2**48 * 1000 - 1), st.integers(0, 2**48 - 1))
def test_a_stretch_of_time_is_a_stretch_of_ids_even_before_there_were_any(moment_us: int, milliseconds: int) -> None:
    minted = IdMint().mint(milliseconds * 1000)

    assert (first_id_at(moment_us) <= minted) == (moment_us // 1000 <= milliseconds)


@record
class Point:
    x: int
    y: int = 0


def test_fields_are_named_and_there_are_no_others() -> None:
    with pytest.raises(TypeError):
        Point(1, 2)  # type: ignore[misc]
    with pytest.raises(TypeError):
        altered(Point(x=1), z=3)
    with pytest.raises(AttributeError):
        Point(x=1).z = 3  # type: ignore[attr-defined]


@given(st.datetimes(timezones=st.just(UTC)))
def test_a_moment_survives_the_way_there_and_back(moment: datetime) -> None:
    us = to_us(moment)

    assert to_datetime(us) == moment
    assert parse_text(to_text(us)) == us


@pytest.mark.parametrize(
    ("text", "same_as"),
    [
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000000Z"),
        ("2026-01-01t02:00:00+02:00", "2026-01-01T00:00:00.000000Z"),
        ("2025-12-31T19:00:00.5-05:00", "2026-01-01T00:00:00.500000Z"),
        ("2026-01-01T00:00:00.123456789z", "2026-01-01T00:00:00.123456Z"),
    ],
)
def test_rfc_3339_is_understood(text: str, same_as: str) -> None:
    assert to_text(parse_text(text)) == same_as


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-01-01",
        "2026-01-01T00:00:00",
        "2026-01-01 00:00:00Z",
        "20260101T000000Z",
        "2026-W01-1T00:00:00Z",
        "2026-01-01T00Z",
        "2026-02-30T00:00:00Z",
        "2026-01-01T24:00:01Z",
        "2026-01-01T23:59:60Z",
        "2026-01-01T00:00:00+24:00",
        "0000-01-01T00:00:00Z",
        "٢٠٢٦-01-01T00:00:00Z",
        " 2026-01-01T00:00:00Z",
        "yesterday",
    ],
)
def test_everything_else_is_not(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_text(text)
