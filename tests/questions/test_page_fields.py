"""Questions on a page: the forms they are shown as, and what a press on one means."""

from __future__ import annotations

from typing import Any

import pytest
from tests.questions.sample_questions import new_question

from postroom.console.visit import Form
from postroom.questions.model import Said, Wording
from postroom.questions.page import event_of, given_fields, given_of, question_fields, revision_of

# -- Forms of questions: what a page offers, and what it sends back as values of the right kind --


def wording(secret: bool = False, **fields: Any) -> Wording:
    form = {"type": "object", "properties": fields, "required": [next(iter(fields))]}
    return new_question(options=None, kind="form", form=form, secret=secret or None).wording


SHAPES: dict[str, tuple[dict[str, Any], str]] = {
    "text": ({"type": "string"}, "text"),
    "email": ({"type": "string", "format": "email"}, "email"),
    "web address": ({"type": "string", "format": "uri"}, "url"),
    "date": ({"type": "string", "format": "date"}, "date"),
    "time": ({"type": "string", "format": "date-time"}, "datetime-local"),
    "whole": ({"type": "integer"}, "number"),
    "number": ({"type": "number"}, "decimal"),
    "yes or no": ({"type": "boolean"}, "radios"),
    "few": ({"type": "string", "enum": ["a", "b"]}, "radios"),
    "many": ({"type": "string", "enum": list("abcdefgh")}, "select"),
    "several": ({"type": "array", "items": {"type": "string", "enum": ["a"]}}, "ticks"),
}


@pytest.mark.parametrize(("field", "shape"), SHAPES.values(), ids=SHAPES)
def test_each_kind_of_field_has_its_shape(field: dict[str, Any], shape: str) -> None:
    assert [one.shape for one in question_fields(wording(f=field), "Europe/Vienna")] == [shape]


def test_a_field_is_filled_with_its_default_and_then_with_what_was_typed() -> None:
    fields = wording(
        n={"type": "integer", "default": 3}, b={"type": "boolean", "default": True}, t={"type": "string", "title": "T!"}
    )

    assert [one.value for one in question_fields(fields, "Europe/Vienna")] == [("3",), ("true",), ()]
    typed = Form((("field.n", "x"), ("field.t", "words")))
    assert [one.text for one in question_fields(fields, "Europe/Vienna", typed)] == ["x", "", "words"]
    assert [one.title for one in question_fields(fields, "Europe/Vienna")] == ["n", "b", "T!"]


def test_a_secret_is_hidden_and_never_filled_in() -> None:
    fields = wording(secret=True, pin={"type": "string"}, kind={"type": "string", "enum": ["a", "b"]})

    found = question_fields(fields, "Europe/Vienna", Form((("field.pin", "1234"), ("field.kind", "a"))))
    assert [(one.shape, one.text) for one in found] == [("password", ""), ("radios", "")]


READ: dict[str, tuple[dict[str, Any], list[str], Any]] = {
    "text": ({"type": "string"}, ["a b"], "a b"),
    "whole": ({"type": "integer"}, [" 7 "], 7),
    "number": ({"type": "number"}, ["2.5"], 2.5),
    "no number": ({"type": "integer"}, ["many"], "many"),
    "yes": ({"type": "boolean"}, ["true"], True),
    "no": ({"type": "boolean"}, ["false"], False),
    "neither": ({"type": "boolean"}, ["perhaps"], "perhaps"),
    "several": ({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}, ["a", "b"], ["a", "b"]),
    "time": ({"type": "string", "format": "date-time"}, ["2026-12-24T18:00"], "2026-12-24T18:00:00+01:00"),
    "time with seconds": (
        {"type": "string", "format": "date-time"},
        ["2026-12-24T18:00:30"],
        "2026-12-24T18:00:30+01:00",
    ),
    "time with zone": (
        {"type": "string", "format": "date-time"},
        ["2026-12-24T18:00:00+05:30"],
        "2026-12-24T18:00:00+05:30",
    ),
}


@pytest.mark.parametrize(("field", "typed", "value"), READ.values(), ids=READ)
def test_what_was_typed_becomes_a_value_of_its_kind(field: dict[str, Any], typed: list[str], value: Any) -> None:
    form = Form(tuple(("field.f", one) for one in typed))

    assert given_fields(wording(f=field), form, "Europe/Vienna") == {"f": value}


def test_what_was_left_empty_is_not_given() -> None:
    fields = wording(a={"type": "string"}, b={"type": "array", "items": {"type": "string", "enum": ["x"]}})

    assert given_fields(fields, Form((("field.a", "  "), ("other", "x"))), "Europe/Vienna") == {}


# -- What a press on a page means, and when two presses are the same --


CHOICE = new_question().wording
SEVERAL = new_question(multiple=True).wording
GIVEN = {
    "press": (CHOICE, {"value": "ship"}, Said(value="ship")),
    "rather not": (CHOICE, {"value": "ship", "declined": "yes"}, Said(declined=True)),
    "own words": (CHOICE, {"text": "a\r\nb"}, Said(text="a\nb")),
    "ticks": (SEVERAL, {"selected": "wait"}, Said(selected=("wait",))),
    "no ticks": (SEVERAL, {}, Said(selected=())),
    "nothing": (CHOICE, {}, Said(value="")),
}


@pytest.mark.parametrize(("wording", "fields", "given"), GIVEN.values(), ids=GIVEN)
def test_a_form_is_one_answer(wording: object, fields: dict[str, str], given: Said) -> None:
    assert given_of(wording, Form(tuple(fields.items())), "UTC") == given  # type: ignore[arg-type]


@pytest.mark.parametrize(("typed", "revision"), [("2", 2), ("", 0), ("x", 0), ("-1", 0), ("9" * 30, 0), ("²", 0)])
def test_a_page_that_does_not_say_its_wording_has_none(typed: str, revision: int) -> None:
    assert revision_of(Form((("revision", typed),))) == revision


def test_the_same_press_of_the_same_session_is_one_event() -> None:
    press = Form((("form_token", "t"), ("revision", "1"), ("back", "today"), ("value", "yes")))
    elsewhere = Form((("form_token", "t"), ("revision", "1"), ("back", "inbox"), ("value", "yes")))
    other = Form((("form_token", "t"), ("revision", "1"), ("back", "today"), ("value", "no")))

    assert event_of("s", "q", press) == event_of("s", "q", elsewhere)
    events = {
        event_of("s", "q", press),
        event_of("s", "q", other),
        event_of("s", "p", press),
        event_of("z", "q", press),
    }
    assert len(events) == 4
