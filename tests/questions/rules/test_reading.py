"""Answers in the words a person saw."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.questions.sample_questions import new_question

from postroom.kernel.acts.reading import made
from postroom.kernel.acts.reading import read as read_act
from postroom.kernel.values.errors import Refused
from postroom.questions.acts import AnswerAsk, AskPeople
from postroom.questions.model import Option, QuestionAnswer, Said, Wording
from postroom.questions.rules.reading import MAX_ANSWER_CHARACTERS, answer_words, read, visible

CHOICE = new_question(options=[{"value": "y", "label": "Yes, ship"}, "no"]).wording
FORM = new_question(
    options=None,
    kind="form",
    form={
        "type": "object",
        "properties": {
            "many": {"type": "integer", "title": "How many"},
            "warm": {"type": "boolean"},
            "days": {"type": "array", "items": {"type": "string", "enum": ["Mon", "Tue"]}},
        },
    },
).wording

CASES = {
    "label": (CHOICE, QuestionAnswer(value="y"), "Yes, ship"),
    "several": (CHOICE, QuestionAnswer(selected=("y", "no")), "Yes, ship, no"),
    "own words": (CHOICE, QuestionAnswer(text="later"), "later"),
    "form": (
        FORM,
        QuestionAnswer(fields={"many": 2, "warm": False, "days": ["Mon", "Tue"]}),
        "How many: 2; warm: no; days: Mon, Tue",
    ),
    "try": (CHOICE, Said(value="y"), "Yes, ship"),
    "declined": (CHOICE, Said(declined=True), "Rather not"),
    "nothing kept": (CHOICE, Said(), ""),
}


@pytest.mark.parametrize(("wording", "answer", "words"), CASES.values(), ids=CASES)
def test_an_answer_is_said_by_labels_and_titles(wording: object, answer: object, words: str) -> None:
    assert answer_words(wording, answer) == words  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        ({"value": "yes"}, Said(value="yes")),
        ({"text": "later"}, Said(text="later")),
        ({"selected": ["a", "b"]}, Said(selected=("a", "b"))),
        ({"fields": {"n": 1}}, Said(fields={"n": 1})),
        ({"declined": True}, Said(declined=True)),
        ({"value": "yes", "declined": False}, Said(value="yes")),
    ],
)
def test_one_kind_of_answer_is_taken(arguments: dict[str, Any], given: Said) -> None:
    one, _ = read_act(AnswerAsk, {"ask_id": "q", **arguments})
    assert one.said == given


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({}, "body"),
        ({"declined": False}, "body"),
        ({"value": "yes", "text": "no"}, "body"),
        ({"answer": "yes"}, "answer"),
        ({"value": 1}, "value"),
        ({"selected": "ab"}, "selected"),
        ({"selected": [1]}, "selected.0"),
        ({"fields": []}, "fields"),
        ({"declined": "yes"}, "declined"),
        ({"text": "x" * 40_000}, "text"),
    ],
)
def test_anything_else_is_refused_by_the_name_of_the_field(arguments: dict[str, Any], field: str) -> None:
    with pytest.raises(Refused) as refused:
        read_act(AnswerAsk, {"ask_id": "q", **arguments})
    assert field in [one.field for one in refused.value.fields]


READING_CHOICE = {
    "options": [{"value": "s", "label": "Ship it 🚀"}, {"value": "w", "label": "Wait"}],
    "allow_text": False,
}
MULTIPLE = {"options": ["red", "green", "blue"], "multiple": True, "allow_text": False}
READING_FORM = {
    "form": {
        "type": "object",
        "properties": {
            "name": {"type": "string", "title": "Your name"},
            "age": {"type": "integer"},
            "size": {"type": "string", "enum": ["s", "m"], "enumNames": ["Small", "Medium"]},
            "days": {"type": "array", "items": {"type": "string", "enum": ["mon", "tue"]}},
            "sure": {"type": "boolean"},
        },
        "required": ["name"],
    }
}


def wording(**arguments: Any) -> Wording:
    return made(AskPeople, **{"question": "Well?", **arguments}).request().wording


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("Ship it 🚀", "s"),
        (" ship  IT 🚀\ufe0f ", "s"),
        ("s", "s"),
        ("1", "s"),
        ("1.", "s"),
        ("#2", "w"),
        ("wait\u200b", "w"),
        ("W", "w"),
    ],
)
def test_a_choice_is_read_by_label_value_or_number(words: str, value: str) -> None:
    assert read(wording(**READING_CHOICE), Said(text=words)).answer == QuestionAnswer(value=value)


@pytest.mark.parametrize("words", ["3", "0", "-1", "ok", "ship", "1 2", "١", "", "  ", "\u200b", "9" * 400])
def test_other_words_are_no_choice(words: str) -> None:
    reading = read(wording(**READING_CHOICE), Said(text=words))

    assert reading.answer is None
    assert reading.problem


def test_a_label_comes_before_a_value_and_a_value_before_a_number() -> None:
    question = Wording(
        kind=wording(**READING_CHOICE).kind,
        question="?",
        options=(Option(value="2", label="1"), Option(value="1", label="two"), Option(value="x", label="3rd")),
    )

    assert read(question, Said(text="1")).answer == QuestionAnswer(value="2")
    assert read(question, Said(text="2")).answer == QuestionAnswer(value="2")
    assert read(question, Said(text="3")).answer == QuestionAnswer(value="x")


def test_own_words_count_where_they_are_allowed() -> None:
    assert read(wording(options=["a", "b"]), Said(text="neither")).answer == QuestionAnswer(text="neither")


@pytest.mark.parametrize(
    ("words", "selected"),
    [("1, 3", ("red", "blue")), ("blue; Red", ("red", "blue")), ("2", ("green",)), ("3,3,1", ("red", "blue"))],
)
def test_several_are_read_in_the_order_of_the_options(words: str, selected: tuple[str, ...]) -> None:
    assert read(wording(**MULTIPLE), Said(text=words)).answer == QuestionAnswer(selected=selected)


def test_several_with_one_that_is_not_there_are_no_answer() -> None:
    assert read(wording(**MULTIPLE), Said(text="1, 4")).problem
    assert read(wording(**MULTIPLE), Said(selected=("red", "pink"))).problem
    assert read(wording(**MULTIPLE), Said(selected=())).problem


@pytest.mark.requirement("ask:approve-exactly")
@pytest.mark.parametrize(("words", "value"), [("Approve", "approve"), ("DENY ", "deny"), ("approve", "approve")])
def test_an_approval_takes_the_very_words(words: str, value: str) -> None:
    assert read(wording(kind="approve"), Said(text=words)).answer == QuestionAnswer(value=value)


@pytest.mark.requirement("ask:approve-exactly")
@pytest.mark.parametrize("words", ["ok", "yes", "👍", "1", "approved", "approve it", "approve.", "a\u200bpprove", "y"])
def test_nothing_else_approves(words: str) -> None:
    reading = read(wording(kind="approve"), Said(text=words))

    assert (reading.answer, reading.declined) == (None, False)
    assert "“Approve” or “Deny”" in str(reading.problem)


@pytest.mark.parametrize("said", [Said(declined=True), Said(text="Rather not"), Said(text=" rather NOT ")])
def test_only_the_button_or_its_word_declines(said: Said) -> None:
    assert read(wording(), said).declined


@pytest.mark.parametrize("words", ["no", "rather not say", "cancel", "decline"])
def test_other_words_do_not_decline(words: str) -> None:
    assert read(wording(), Said(text=words)).answer == QuestionAnswer(text=words)


def test_a_text_is_kept_as_it_was_said() -> None:
    assert read(wording(), Said(text=" two\nlines ")).answer == QuestionAnswer(text="two\nlines")
    assert read(wording(), Said(text="a\x00b")).answer == QuestionAnswer(text="a\ufffdb")
    assert read(wording(), Said(text="x" * (MAX_ANSWER_CHARACTERS + 1))).problem
    assert read(wording(), Said(value="x")).problem


def test_a_form_is_read_line_by_line() -> None:
    words = "Your Name: Anna: the first\nAGE: 7\nsize: medium\ndays: 1, tue\nsure: yes"

    assert read(wording(**READING_FORM), Said(text=words)).answer == QuestionAnswer(
        fields={"name": "Anna: the first", "age": 7, "size": "m", "days": ["mon", "tue"], "sure": True}
    )


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("Anna", "one line for each of: name: …, age: …"),
        ("name: Anna\ncolour: red", "one line for each of"),
        ("name: Anna\nage: seven", "age: must be a whole number"),
        ("age: 7", "name: is required"),
        ("name: Anna\nsure: perhaps", "sure: must be yes or no"),
        ("name: Anna\ndays: sunday", "days: must be some of mon, tue"),
    ],
)
def test_what_is_wrong_with_a_form_is_said(words: str, problem: str) -> None:
    assert problem in str(read(wording(**READING_FORM), Said(text=words)).problem)


def test_a_form_with_one_field_takes_the_words_as_they_are() -> None:
    form = {"type": "object", "properties": {"weight": {"type": "number"}}}

    assert read(wording(form=form), Said(text="7.5")).answer == QuestionAnswer(fields={"weight": 7.5})
    assert read(wording(form=form), Said(text="weight: 7")).answer == QuestionAnswer(fields={"weight": 7})
    assert read(wording(form=form), Said(text="heavy")).problem == "weight: must be a number"


@pytest.mark.parametrize("fields", [None, {}, {"name": None}])
def test_an_empty_form_is_never_an_answer(fields: dict[str, Any] | None) -> None:
    form = {"type": "object", "properties": {"name": {"type": "string"}}}

    assert read(wording(form=form), Said(fields=fields)).problem == "fill in the form"


SAID = st.builds(
    Said,
    value=st.none() | st.text(max_size=5) | st.sampled_from(["s", "approve", "red"]),
    text=st.none() | st.text(max_size=40) | st.sampled_from(["1", "name: x", "Approve", "1,2"]),
    selected=st.none() | st.lists(st.sampled_from(["red", "blue", "x"]), max_size=3).map(tuple),
    fields=st.none() | st.dictionaries(st.sampled_from(["name", "age", "x"]), st.none() | st.text() | st.integers()),
    declined=st.booleans(),
)


@given(said=SAID, arguments=st.sampled_from([{}, READING_CHOICE, MULTIPLE, READING_FORM, {"kind": "approve"}]))
def test_whatever_is_said_has_exactly_one_reading(said: Said, arguments: dict[str, Any]) -> None:
    reading = read(wording(**arguments), said)

    assert [reading.answer is not None, reading.declined, reading.problem is not None].count(True) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ship", " ship "),
        ("Ship it", "ship\u00a0 it"),
        ("wait", "wa\u200bit\u2060"),
        ("é", "e\u0301"),
        ("❤", "❤\ufe0f"),
        ("abc", "\u202eabc\u202c"),
        ("STRASSE", "straße"),
    ],
)
def test_what_looks_the_same_is_the_same(one: str, other: str) -> None:
    assert visible(one) == visible(other)


@pytest.mark.parametrize(("one", "other"), [("e", "é"), ("a b", "ab"), ("x", "x\u0323"), ("ship", "shop")])
def test_what_looks_different_is_different(one: str, other: str) -> None:
    assert visible(one) != visible(other)


@pytest.mark.parametrize("text", ["", " \n", "\u200b", "\ufeff\u2066"])
def test_what_cannot_be_seen_is_nothing(text: str) -> None:
    assert visible(text) == ""
