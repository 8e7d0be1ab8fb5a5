"""JSON without what JSON does not have."""

from __future__ import annotations

import json
from typing import Any

import pytest

from postroom.domain.strict_json import strict_json

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
