"""Flat JSON Schemas as lines to fill in, and back."""

from __future__ import annotations

from typing import Any

import pytest

from postroom.programs.desk.asks.form import form_fields, form_values, in_labels


def form(field: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"it": field}, **more}


@pytest.mark.parametrize(
    ("field", "choices"),
    [
        ({"type": "string"}, ()),
        ({"type": "boolean"}, (("true", "Yes"), ("false", "No"))),
        ({"type": "string", "enum": ["a", "b"]}, (("a", "a"), ("b", "b"))),
        ({"type": "string", "enum": ["a"], "enumNames": ["Alpha"]}, (("a", "Alpha"),)),
        ({"type": "string", "oneOf": [{"const": "a", "title": "Alpha"}]}, (("a", "Alpha"),)),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, (("a", "a"), ("b", "b"))),
        ({"type": "array", "items": {"anyOf": [{"const": "a"}]}}, (("a", "a"),)),
    ],
)
def test_a_field_offers_what_may_be_chosen(field: dict[str, Any], choices: tuple[tuple[str, str], ...]) -> None:
    [line] = form_fields(form(field))

    assert (line.choices, line.several) == (choices, field["type"] == "array")


@pytest.mark.parametrize(
    ("field", "hint"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 9}, "A whole number from 1 to 9"),
        ({"type": "number", "minimum": 0}, "A number of at least 0"),
        ({"type": "number", "maximum": 5, "description": "In metres."}, "In metres. A number of at most 5"),
        ({"type": "string", "format": "email"}, "An e-mail address"),
        ({"type": "string"}, ""),
    ],
)
def test_a_line_says_what_it_takes(field: dict[str, Any], hint: str) -> None:
    assert form_fields(form(field))[0].hint == hint


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ({"type": "string", "default": "x"}, ("x",)),
        ({"type": "boolean", "default": False}, ("false",)),
        ({"type": "integer", "default": 3}, ("3",)),
        ({"type": "array", "items": {"enum": ["a"]}, "default": ["a"]}, ("a",)),
        ({"type": "string"}, ()),
    ],
)
def test_a_default_stands_in_the_line_unless_something_was_filled_in(
    field: dict[str, Any], value: tuple[str, ...]
) -> None:
    assert form_fields(form(field))[0].value == value
    assert form_fields(form(field), {"it": ("a",)})[0].value == ("a",)
    assert form_fields(form(field), {})[0].value == ()


@pytest.mark.parametrize(
    ("field", "given", "value"),
    [
        ({"type": "string"}, ["12"], "12"),
        ({"type": "integer"}, [" 12 "], 12),
        ({"type": "number"}, ["1.5"], 1.5),
        ({"type": "integer"}, ["many"], "many"),
        ({"type": "boolean"}, ["false"], False),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, ["a", "b"], ["a", "b"]),
    ],
)
def test_what_was_filled_in_has_the_type_of_the_field(field: dict[str, Any], given: list[str], value: Any) -> None:
    assert form_values(form(field), {"it": given}) == {"it": value}
    assert form_values(form(field), {}) == {}


def test_a_required_field_is_marked_and_a_title_is_its_label() -> None:
    [line] = form_fields(form({"type": "string", "title": "The thing"}, required=["it"]))

    assert (line.required, line.label) == (True, "The thing")
    assert in_labels(form({"type": "string", "title": "The thing"}), "it: is required") == "The thing: is required"
