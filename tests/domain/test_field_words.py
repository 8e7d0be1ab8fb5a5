"""Field errors in our words, from the library's."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import Field, ValidationError

from postroom.domain.field_words import field_error
from postroom.doors.guard.json_body import Strict, Text


class Inner(Strict):
    colour: Literal["red", "blue"]


class Body(Strict):
    key: Annotated[Text | None, Field(min_length=8, max_length=12)] = None
    name: Annotated[Text, Field(min_length=1)] = "x"
    many: Annotated[list[str], Field(min_length=1, max_length=2)] = Field(default=["one"])
    count: Annotated[int, Field(ge=1, le=20)] = 1
    inner: Inner | None = None
    flag: bool = True
    callback: Annotated[str, Field(pattern="^https://")] = "https://"


@pytest.mark.parametrize(
    ("body", "field", "error"),
    [
        ({"key": "short"}, "key", "must have at least 8 characters"),
        ({"key": "far too long for it"}, "key", "must have at most 12 characters"),
        ({"name": ""}, "name", "must have at least 1 characters"),
        ({"name": "a\0b"}, "name", "must not contain NUL"),
        ({"name": 5}, "name", "must be text"),
        ({"many": []}, "many", "must have at least 1 items"),
        ({"many": ["a", "b", "c"]}, "many", "must have at most 2 items"),
        ({"many": ["a", 2]}, "many.1", "must be text"),
        ({"count": 0}, "count", "must be at least 1"),
        ({"count": "1"}, "count", "must be a whole number"),
        ({"inner": {}}, "inner.colour", "is required"),
        ({"inner": {"colour": "green"}}, "inner.colour", "must be one of red or blue"),
        ({"inner": 1}, "inner", "must be an object"),
        ({"flag": "yes"}, "flag", "must be true or false"),
        ({"callback": "ftp://"}, "callback", "does not have the right form"),
        ({"more": 1}, "more", "unknown field"),
        ([], "body", "must be an object"),
    ],
    ids=str,
)
def test_the_field_is_named_and_the_sentence_is_ours(body: Any, field: str, error: str) -> None:
    with pytest.raises(ValidationError) as raised:
        Body.model_validate(body)

    found = field_error(raised.value.errors()[0])

    assert (found.field, found.error) == (field, error)


def test_what_the_library_says_of_anything_else_is_left_out() -> None:
    item = {"type": "url_parsing", "loc": ("query", "page"), "msg": "see https://errors.example", "input": "x"}

    assert (field_error(item).field, field_error(item).error) == ("page", "is not valid")
