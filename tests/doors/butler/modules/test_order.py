from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.doors.butler.modules.order import order
from postroom.system.settings import SettingsError

FILE = "roster/messenger/butler.toml"
NAMES = [f"m{number}" for number in range(8)]


@pytest.mark.parametrize(
    ("dependencies", "expected"),
    [
        ({}, []),
        ({"telegram": [], "calendar": [], "approvals": []}, ["approvals", "calendar", "telegram"]),
        ({"approvals": ["telegram"], "telegram": ["store"], "store": []}, ["store", "telegram", "approvals"]),
    ],
    ids=["none", "by name", "by need"],
)
def test_every_module_follows_what_it_needs(dependencies: dict[str, list[str]], expected: list[str]) -> None:
    assert order(dependencies, source=FILE) == expected


@pytest.mark.parametrize(
    ("dependencies", "sentence"),
    [
        ({"a": ["b"]}, f"{FILE}: modules.a needs modules.b, which is not there."),
        ({"a": ["a"]}, f"{FILE}: modules.a needs itself: a needs a."),
        (
            {"z": ["a"], "a": ["b"], "b": ["c"], "c": ["a"], "free": []},
            f"{FILE}: modules.a needs itself: a needs b needs c needs a.",
        ),
    ],
    ids=["unknown", "itself", "circle"],
)
def test_what_cannot_be_ordered_names_file_and_key(dependencies: dict[str, list[str]], sentence: str) -> None:
    with pytest.raises(SettingsError) as refusal:
        order(dependencies, source=FILE)

    assert str(refusal.value) == sentence


@given(st.dictionaries(st.sampled_from(NAMES), st.lists(st.sampled_from(NAMES), max_size=3)))
def test_an_order_is_right_or_refused(dependencies: dict[str, list[str]]) -> None:
    try:
        placed = order(dependencies, source=FILE)
    except SettingsError:
        return
    assert sorted(placed) == sorted(dependencies)
    for position, name in enumerate(placed):
        assert set(dependencies[name]) <= set(placed[:position])
