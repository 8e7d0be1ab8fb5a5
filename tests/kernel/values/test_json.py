from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.kernel.values.fields import text_problem
from postroom.kernel.values.json import json_size, storable, strict_json

anything = st.text(st.characters() | st.sampled_from("\x00\ud83d\ude00\udfff"))


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        pytest.param("Grüße 😀", "Grüße 😀", id="fine as it is"),
        pytest.param("a\x00b", "a\ufffdb", id="NUL"),
        pytest.param("a\ud800b", "a\ufffdb", id="half a pair"),
        pytest.param("\udfff", "\ufffd", id="the other half"),
        pytest.param("\ud83d\ude00", "😀", id="two halves that belong together"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_what_cannot_be_kept_is_replaced(said: str, kept: str) -> None:
    assert storable(said) == kept


@given(anything)
def test_the_outcome_can_always_be_kept_and_is_never_longer(said: str) -> None:
    kept = storable(said)

    assert text_problem(kept) is None
    assert len(kept) <= len(said)
    assert storable(kept) == kept


NAN, INFINITY = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ({"a": NAN, "b": [1.5, INFINITY, (-INFINITY,)], "c": {"d": NAN}}, {"a": None, "b": [1.5, None, [None]]}),
        ({"a": 1, "b": "NaN"}, {"a": 1, "b": "NaN"}),
    ],
    ids=["not numbers", "ordinary"],
)
def test_what_is_no_number_becomes_null(value: dict[str, Any], written: dict[str, Any]) -> None:
    def refuse(constant: str) -> Any:
        raise AssertionError(constant)

    found = json.loads(strict_json(value), parse_constant=refuse)

    assert {name: found[name] for name in written} == written


@pytest.mark.parametrize(("value", "size"), [(None, 4), ("é", 4), ({"a": [1]}, 10), ("x" * 10, 12)])
def test_bytes_are_counted(value: object, size: int) -> None:
    assert json_size(value) == size


@pytest.mark.parametrize("value", [object(), float("nan"), "\ud800", {(1,): 2}])
def test_what_json_cannot_say_has_no_size(value: object) -> None:
    assert json_size(value) is None
