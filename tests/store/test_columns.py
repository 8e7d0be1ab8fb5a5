"""Rows as columns: what is empty in all of them is left out."""

from __future__ import annotations

import pytest

from postroom.store.columns import columns


@pytest.mark.parametrize(
    ("rows", "width", "expected"),
    [
        ([(1, "a"), (2, "b")], 0, [(1, 2), ("a", "b")]),
        ([(1, None), (2, None)], 0, [(1, 2), ()]),
        ([(1, None), (2, "b")], 0, [(1, 2), (None, "b")]),
        ([(False, 0, "")], 0, [(False,), (0,), ("",)]),
        ([], 3, [(), (), ()]),
    ],
    ids=["all there", "one is empty everywhere", "one is empty somewhere", "nothing is not the same as no", "no rows"],
)
def test_columns(rows: list[tuple[object, ...]], width: int, expected: list[tuple[object, ...]]) -> None:
    assert columns(rows, width) == expected
