"""How long something is as JSON."""

from __future__ import annotations

import pytest

from postroom.work.questions.json_size import json_size


@pytest.mark.parametrize(("value", "size"), [(None, 4), ("é", 4), ({"a": [1]}, 10), ("x" * 10, 12)])
def test_bytes_are_counted(value: object, size: int) -> None:
    assert json_size(value) == size


@pytest.mark.parametrize("value", [object(), float("nan"), "\ud800", {(1,): 2}])
def test_what_json_cannot_say_has_no_size(value: object) -> None:
    assert json_size(value) is None
