"""Names of arguments that a tool does not have."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from postroom.kernel.values.fields import (
    did_you_mean,
    field_error,
    json_size,
    nearest,
    storable,
    strict_json,
    text_problem,
    web_address,
)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Inner(_Strict):
    colour: Literal["red", "blue"]


class Body(_Strict):
    key: Annotated[str | None, Field(min_length=8, max_length=12)] = None
    name: Annotated[str, Field(min_length=1)] = "x"
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


NAMES = ["telegram", "email", "Maria"]


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("telegran", "telegram"),
        ("EMAIL", "email"),
        ("e-mail", "email"),
        ("mria", "Maria"),
        ("pigeon", None),
        ("", None),
    ],
)
def test_a_slip_is_understood_and_nonsense_is_not(word: str, meant: str | None) -> None:
    assert nearest(word, NAMES) == meant


def test_the_sentence_ends_either_way() -> None:
    assert did_you_mean("emial", NAMES) == ", did you mean 'email'?"
    assert did_you_mean("pigeon", NAMES) == "."


@given(st.text(), st.lists(st.text(min_size=1)))
def test_what_is_proposed_is_always_valid(word: str, known: list[str]) -> None:
    found = nearest(word, known)

    assert found is None or found in known
    if word and word in known:
        assert found is not None and found.lower() == word.lower()


@pytest.mark.parametrize("host", ["127.0.0.1", "butler.example", "::1", "2001:db8::7"])
def test_host_and_port_can_be_read_back(host: str) -> None:
    parts = urlsplit(web_address(host, 40200))

    assert (parts.hostname, parts.port) == (host, 40200)


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
