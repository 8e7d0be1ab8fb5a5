"""An answer as a signed-in person gives it."""

from __future__ import annotations

from typing import Any

import pytest

from postroom.domain.errors import ValidationError
from postroom.work.questions.given import Given, check_given


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        ({"value": "yes"}, Given(value="yes")),
        ({"text": "later"}, Given(text="later")),
        ({"selected": ["a", "b"]}, Given(selected=("a", "b"))),
        ({"fields": {"n": 1}}, Given(fields={"n": 1})),
        ({"declined": True}, Given(declined=True)),
        ({"value": "yes", "declined": False}, Given(value="yes")),
    ],
)
def test_one_kind_of_answer_is_taken(arguments: dict[str, Any], given: Given) -> None:
    assert check_given(arguments) == given


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({}, "body"),
        ({"declined": False}, "body"),
        ({"value": "yes", "text": "no"}, "body"),
        ([], "body"),
        ({"answer": "yes"}, "answer"),
        ({"value": 1}, "value"),
        ({"selected": "ab"}, "selected"),
        ({"selected": [1]}, "selected"),
        ({"fields": []}, "fields"),
        ({"declined": "yes"}, "declined"),
        ({"text": "x" * 40_000}, "text"),
    ],
)
def test_anything_else_is_refused_by_the_name_of_the_field(arguments: object, field: str) -> None:
    with pytest.raises(ValidationError) as refused:
        check_given(arguments)
    assert field in [one.field for one in refused.value.fields]
