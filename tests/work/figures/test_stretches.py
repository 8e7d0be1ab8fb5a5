"""Hours and days of a zone, also on the days when its clock is changed."""

from __future__ import annotations

from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.domain.span_figures import FigureSpan
from postroom.domain.time import parse_text, to_datetime
from postroom.work.figures.stretches import edges, spoken_stretch, stretch_name

VIENNA = "Europe/Vienna"
HOUR_US = 3_600_000_000
zones = st.sampled_from([VIENNA, "UTC", "Asia/Kolkata", "America/St_Johns", "Pacific/Chatham", "Africa/Monrovia"])
moments = st.integers(parse_text("2020-01-01T00:00:00Z"), parse_text("2035-01-01T00:00:00Z"))


@given(now_us=moments, span=st.sampled_from(list(FigureSpan)), zone=zones)
def test_the_last_stretch_is_the_one_we_are_in_and_none_is_left_out(now_us: int, span: FigureSpan, zone: str) -> None:
    found = edges(now_us, span, zone)

    assert found[-2] <= now_us < found[-1]
    assert len(found) - 1 == {"24h": 25, "7d": 7, "30d": 30}[span]
    for since, until in pairwise(found[1:] if span is FigureSpan.DAY else found):
        assert HOUR_US <= until - since <= 25 * HOUR_US


@given(now_us=moments, zone=zones)
def test_a_day_back_is_a_day_back_from_this_moment(now_us: int, zone: str) -> None:
    """As Today and every other "last 24 hours" counts."""
    found = edges(now_us, FigureSpan.DAY, zone)

    assert found[0] == now_us - 24 * HOUR_US
    assert 0 < found[1] - found[0] <= HOUR_US
    assert {until - since for since, until in pairwise(found[1:])} == {HOUR_US}


@given(now_us=moments, zone=zones)
def test_a_day_begins_when_its_zone_says(now_us: int, zone: str) -> None:
    for edge in edges(now_us, FigureSpan.WEEK, zone):
        here = to_datetime(edge).astimezone(ZoneInfo(zone))
        assert (here.hour, here.minute) == (0, 0)


def test_a_day_on_which_the_clock_is_changed_is_longer_or_shorter() -> None:
    autumn = edges(parse_text("2026-10-26T12:00:00Z"), FigureSpan.WEEK, VIENNA)
    spring = edges(parse_text("2026-03-30T12:00:00Z"), FigureSpan.WEEK, VIENNA)

    assert (autumn[-2] - autumn[-3], spring[-2] - spring[-3]) == (25 * HOUR_US, 23 * HOUR_US)


@pytest.mark.parametrize(
    ("span", "name", "spoken"),
    [
        (FigureSpan.DAY, "14:00", "at 14:00"),
        (FigureSpan.WEEK, "Tue 3", "on Tuesday"),
        (FigureSpan.MONTH, "3 Nov", "on 3 Nov"),
    ],
)
def test_a_stretch_is_named_as_people_there_do(span: FigureSpan, name: str, spoken: str) -> None:
    at_us = parse_text("2026-11-03T13:00:00Z")

    assert (stretch_name(at_us, span, VIENNA), spoken_stretch(at_us, span, VIENNA)) == (name, spoken)
