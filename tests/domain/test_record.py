"""A record compares, hashes and is changed as a frozen dataclass is: into another one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from postroom.domain.record import altered, record


@record
class Point:
    x: int
    y: int = 0


def test_equal_fields_make_equal_records() -> None:
    assert Point(x=1) == Point(x=1, y=0)
    assert Point(x=1) != Point(x=2)
    assert len({Point(x=1), Point(x=1), Point(x=2)}) == 2


def test_a_change_makes_another_record() -> None:
    point = Point(x=1)

    assert replace(point, y=5) == altered(point, y=5) == Point(x=1, y=5)
    assert point == Point(x=1)


def test_fields_are_named_and_there_are_no_others() -> None:
    with pytest.raises(TypeError):
        Point(1, 2)  # type: ignore[misc]
    with pytest.raises(TypeError):
        altered(Point(x=1), z=3)
    with pytest.raises(AttributeError):
        Point(x=1).z = 3  # type: ignore[attr-defined]
