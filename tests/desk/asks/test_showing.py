"""The popup of each kind of question."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from postroom.desk.asks.asking import Ask
from postroom.desk.asks.showing import (
    Before,
    asker_name,
    form_fields,
    form_values,
    given,
    in_labels,
    labels,
    message_sheet,
    question_sheet,
)
from postroom.desk.desk import Look
from postroom.desk.model import PopupEnding, PopupOutcome, Sheet, decode_sheet, encode_sheet
from postroom.message.delivery import Format
from postroom.questions.model import APPROVE_OPTIONS, Option, QuestionKind, Wording

LOOK = Look(token="t1", turn_file="turn", drafts=Path("drafts"), palette="dark", message_seconds=2.0)
TEXT = Wording(kind=QuestionKind.TEXT, question="Why?")
PAIR = (Option(value="a", label="Now"), Option(value="b", label="Later", description="at night"))
CHOICE = Wording(kind=QuestionKind.CHOICE, question="When?", context="It rains.", options=PAIR)
FORM = {"type": "object", "properties": {"name": {"type": "string"}}}
NEW = Before()


def sheet(wording: Wording, before: Before = NEW) -> Sheet:
    ask = Ask(id="q1", revision=1, asker="butler:health", wording=wording)
    return question_sheet(ask, before, LOOK, settle_seconds=1.0)


@pytest.mark.parametrize(
    ("wording", "has_reply", "ends_by_choosing"),
    [
        (TEXT, True, False),
        (CHOICE, True, False),
        (replace(CHOICE, allow_text=False), False, True),
        (replace(CHOICE, allow_text=False, multiple=True), False, False),
        (Wording(kind=QuestionKind.APPROVE, question="May I?", options=APPROVE_OPTIONS), False, True),
        (Wording(kind=QuestionKind.FORM, question="Fill in", form=FORM), False, False),
    ],
)
def test_words_are_taken_where_they_answer(wording: Wording, has_reply: bool, ends_by_choosing: bool) -> None:
    made = sheet(wording)

    assert (made.has_reply, made.ends_by_choosing) == (has_reply, ends_by_choosing)
    assert (made.needs_answer, made.decline_label, made.cancel_label) == (True, "Rather not", "Later")
    assert decode_sheet(encode_sheet(made)) == made


def test_the_popup_says_who_asks_and_what_the_options_mean() -> None:
    made = sheet(CHOICE)

    assert (made.title, made.project) == ("Question from health", "health asks")
    assert made.message == "When?\n\nIt rains.\n\nLater: at night"
    assert (made.options, made.palette) == (("Now", "Later"), "dark")
    assert asker_name("operator") == "operator"


def test_options_that_read_the_same_are_told_apart() -> None:
    options = (Option(value="a", label="Yes"), Option(value="b", label="Yes"), Option(value="c", label="No"))

    assert labels(replace(CHOICE, options=options)) == {"Yes (a)": "a", "Yes (b)": "b", "No": "c"}


def test_what_was_wrong_before_is_said_and_what_was_typed_is_there_again() -> None:
    made = sheet(TEXT, Before(problem="too short", text="no"))

    assert (made.problem, made.text) == ("too short", "no")


def test_a_message_leaves_by_itself() -> None:
    made = message_sheet("Too late.", LOOK)

    assert (made.wait_for_response, made.timeout_seconds) == (False, 2.0)


@pytest.mark.requirement("content:questions-formatted")
def test_markdown_reads_well_on_the_desk_and_is_never_markup_there() -> None:
    asked = Wording(
        kind=QuestionKind.TEXT,
        question="**Ship** <b>it</b>?",
        context="> see [log](https://ci.example)",
        format=Format.MARKDOWN,
    )
    assert sheet(asked).message == "Ship <b>it</b>?\n\n> see log (https://ci.example)"
    assert sheet(replace(asked, format=Format.PLAIN)).message.startswith("**Ship**")


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


OPTIONS = (Option(value="a", label="Alpha"), Option(value="b", label="Beta"))
GIVEN_TEXT = Wording(kind=QuestionKind.TEXT, question="Why?")
ONE = Wording(kind=QuestionKind.CHOICE, question="Which?", options=OPTIONS)
SEVERAL = Wording(kind=QuestionKind.CHOICE, question="Which?", options=OPTIONS, multiple=True)
GIVEN_FORM = Wording(kind=QuestionKind.FORM, question="?", form={"properties": {"n": {"type": "integer"}}})


@pytest.mark.parametrize(
    ("wording", "ending", "answer"),
    [
        (GIVEN_TEXT, PopupEnding(outcome=PopupOutcome.SUBMITTED, text=" so \n"), {"text": " so \n"}),
        (ONE, PopupEnding(outcome=PopupOutcome.SUBMITTED, chosen=("Beta",)), {"value": "b"}),
        (ONE, PopupEnding(outcome=PopupOutcome.SUBMITTED, text="neither"), {"text": "neither"}),
        (SEVERAL, PopupEnding(outcome=PopupOutcome.SUBMITTED, chosen=("Alpha", "Beta")), {"selected": ["a", "b"]}),
        (GIVEN_FORM, PopupEnding(outcome=PopupOutcome.SUBMITTED, fields={"n": ("3",)}), {"fields": {"n": 3}}),
        (GIVEN_TEXT, PopupEnding(outcome=PopupOutcome.DECLINED), {"declined": True}),
    ],
)
def test_an_answer_has_the_form_of_its_question(wording: Wording, ending: PopupEnding, answer: dict[str, Any]) -> None:
    assert given(wording, ending) == answer


@pytest.mark.requirement("ask:desk-closing-is-no-answer")
@pytest.mark.parametrize("outcome", sorted(set(PopupOutcome) - {PopupOutcome.SUBMITTED, PopupOutcome.DECLINED}))
def test_no_other_end_of_a_popup_is_an_answer(outcome: PopupOutcome) -> None:
    assert given(ONE, PopupEnding(outcome=outcome, text="typed", chosen=("Beta",))) is None
