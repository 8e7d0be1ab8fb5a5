"""Forms: which are allowed, and which values fit."""

from __future__ import annotations

from typing import Any

import pytest

from postroom.questions.rules.form import choices, form_problems, value_problems

FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 2, "maxLength": 5},
        "mail": {"type": "string", "format": "email"},
        "page": {"type": "string", "format": "uri"},
        "day": {"type": "string", "format": "date"},
        "moment": {"type": "string", "format": "date-time"},
        "size": {"type": "string", "enum": ["s", "m"], "enumNames": ["Small", "Medium"]},
        "colour": {"type": "string", "oneOf": [{"const": "r", "title": "Red"}]},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "weight": {"type": "number"},
        "sure": {"type": "boolean", "default": False},
        "days": {"type": "array", "items": {"type": "string", "enum": ["mon", "tue"]}, "minItems": 1, "maxItems": 1},
    },
    "required": ["name"],
}


def test_every_kind_of_field_that_elicitation_knows_is_allowed() -> None:
    assert form_problems(FORM) == []


@pytest.mark.parametrize(
    ("form", "path"),
    [
        ("name", "form"),
        ({"type": "object", "properties": {"a": {"type": "string", "default": "\ud800"}}}, "form"),
        ({"type": "object", "properties": {"a": {"type": "string", "description": "x" * 33_000}}}, "form"),
        ({}, "form.type"),
        ({"type": "object"}, "form.properties"),
        ({"type": "object", "properties": {}}, "form.properties"),
        ({"type": "object", "properties": {str(one): {"type": "string"} for one in range(21)}}, "form.properties"),
        ({"type": "object", "properties": {"a": {"type": "string"}}, "anyOf": []}, "form.anyOf"),
        ({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["b"]}, "form.required"),
        ({"type": "object", "properties": {"a": "string"}}, "form.properties.a"),
        ({"type": "object", "properties": {"a:b": {"type": "string"}}}, "form.properties.a:b"),
        ({"type": "object", "properties": {"a": {"type": "object"}}}, "form.properties.a.type"),
        ({"type": "object", "properties": {"a": {"type": ["string"]}}}, "form.properties.a.type"),
        ({"type": "object", "properties": {"a": {"type": "string", "pattern": "(a+)+"}}}, "form.properties.a.pattern"),
        ({"type": "object", "properties": {"a": {"type": "string", "format": "ipv4"}}}, "form.properties.a.format"),
        ({"type": "object", "properties": {"a": {"type": "string", "minLength": -1}}}, "form.properties.a.minLength"),
        ({"type": "object", "properties": {"a": {"type": "number", "minimum": "0"}}}, "form.properties.a.minimum"),
        ({"type": "object", "properties": {"a": {"type": "string", "title": 7}}}, "form.properties.a.title"),
        ({"type": "object", "properties": {"a": {"type": "string", "enum": []}}}, "form.properties.a"),
        ({"type": "object", "properties": {"a": {"type": "string", "enum": ["x", "x"]}}}, "form.properties.a"),
        ({"type": "object", "properties": {"a": {"type": "string", "oneOf": [7]}}}, "form.properties.a"),
        ({"type": "object", "properties": {"a": {"type": "array"}}}, "form.properties.a"),
        ({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}}}}, "form.properties.a"),
    ],
)
def test_a_form_that_is_not_flat_is_refused_where_it_is_not(form: Any, path: str) -> None:
    assert path in [problem.field for problem in form_problems(form)]


@pytest.mark.parametrize(
    "values",
    [
        {"name": "Anna"},
        {"name": "Anna", "mail": "a@b.org", "page": "https://b.org/", "day": "2026-12-24", "size": "m", "colour": "r"},
        {"name": "Anna", "moment": "2026-12-24T18:00:00Z", "age": 7, "weight": 7.5, "sure": True, "days": ["tue"]},
    ],
)
def test_values_that_fit(values: dict[str, Any]) -> None:
    assert value_problems(FORM, values) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("name", ""),
        ("name", "A"),
        ("name", "Annabel"),
        ("name", 7),
        ("name", "a\x00b"),
        ("mail", "a at b"),
        ("page", "b.org"),
        ("day", "24.12."),
        ("moment", "tonight"),
        ("size", "l"),
        ("colour", "Red"),
        ("age", -1),
        ("age", 151),
        ("age", 7.5),
        ("age", True),
        ("weight", "7"),
        ("weight", float("nan")),
        ("sure", "yes"),
        ("days", []),
        ("days", ["mon", "tue"]),
        ("days", ["sun"]),
        ("days", "mon"),
        ("nothing", "x"),
    ],
)
def test_a_value_that_does_not_fit_is_named_and_not_repeated(name: str, value: Any) -> None:
    (problem,) = value_problems(FORM, {"name": "Anna", name: value})

    assert problem.field == name
    assert "Annabel" not in problem.error


def test_choices_have_their_titles() -> None:
    fields: Any = FORM["properties"]

    assert choices(fields["size"]) == [("s", "Small"), ("m", "Medium")]
    assert choices(fields["colour"]) == [("r", "Red")]
    assert choices(fields["days"]) == [("mon", "mon"), ("tue", "tue")]
    assert choices(fields["name"]) == []
