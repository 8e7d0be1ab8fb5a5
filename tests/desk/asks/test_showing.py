"""Questions of a living household on a real screen, answered with real keys."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.desk.asks.conftest import watcher
from tests.desk.asks.house import House
from tests.desk.caller import Caller, text_of
from tests.desk.conftest import ARTEFACTS
from tests.desk.screen import Screen, until

from postroom.desk.asks.asking import Ask
from postroom.desk.asks.showing import (
    Before,
    given,
    in_labels,
    labels,
    message_sheet,
    question_sheet,
    sheet_fields,
)
from postroom.desk.desk import Look
from postroom.desk.model import PopupEnding, PopupOutcome, Sheet
from postroom.desk.window.window import decode_sheet, encode
from postroom.message.delivery import Format
from postroom.questions.model import APPROVE_OPTIONS, Option, QuestionKind, Said, Wording

TITLE = "Question from health"
FORM: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Name of the release", "description": "As it stands in the changelog"},
        "count": {"type": "integer", "title": "Machines", "minimum": 1, "maximum": 9},
        "size": {"type": "string", "enum": ["s", "m"], "enumNames": ["Small", "Medium"], "title": "Size"},
        "rush": {"type": "boolean", "title": "In a hurry?"},
    },
    "required": ["name", "count"],
}


def picture(screen: Screen, desk: Caller, name: str) -> str:
    window = screen.window(TITLE)
    screen.picture(ARTEFACTS / "asks" / f"{name}.png", window)
    return window


@pytest.mark.requirement("ask:desk-shows-and-answers")
def test_a_question_is_answered_in_words(desk: Caller, screen: Screen, house: House) -> None:
    ask = house.ask("Which name shall the release have?", context="The last one was Juniper.")
    picture(screen, desk, "text")
    screen.key("Return")  # nothing is no answer
    screen.type("Willow")
    screen.key("Return")

    ended = house.end_of(ask)

    assert (ended["status"], ended["answer"]["text"]) == ("answered", "Willow")
    assert (ended["answered_by"]["channel"], ended["answered_by"]["assurance"]) == ("desk", "signed_in")
    screen.gone(TITLE)
    until(lambda: not desk.drafts(), "the draft to be gone")


@pytest.mark.requirement("ask:desk-shows-and-answers")
def test_one_of_several_options_is_chosen_with_the_keyboard(desk: Caller, screen: Screen, house: House) -> None:
    options = [{"value": "a", "label": "Now", "description": "takes a minute"}, {"value": "b", "label": "Tonight"}]
    ask = house.ask("When shall I deploy?", kind="choice", options=options)
    picture(screen, desk, "choice")
    screen.key("shift+Tab", "space")

    assert house.end_of(ask)["answer"]["value"] == "b"
    screen.gone(TITLE)


@pytest.mark.requirement("ask:desk-shows-and-answers")
def test_several_options_are_chosen_and_sent(desk: Caller, screen: Screen, house: House) -> None:
    ask = house.ask("Which?", kind="choice", options=["red", "green", "blue"], multiple=True, allow_text=False)
    window = picture(screen, desk, "several")
    screen.key("Tab", "space", "Tab", "Tab", "space")
    screen.picture(ARTEFACTS / "asks" / "several-chosen.png", window)
    screen.key("Tab", "space")

    assert house.end_of(ask)["answer"]["selected"] == ["red", "blue"]


@pytest.mark.requirement("ask:desk-shows-and-answers")
def test_approving_takes_a_button_and_a_stray_enter_decides_nothing(desk: Caller, screen: Screen, house: House) -> None:
    ask = house.ask("May I delete the old backups?", kind="approve", context="42 files, 3 GB")
    picture(screen, desk, "approve")
    screen.key("Return", "y", "Return", "space")
    assert house.open(ask) and screen.windows(TITLE)
    screen.key("Tab", "space")

    assert house.end_of(ask)["answer"]["value"] == "approve"


@pytest.mark.requirement("ask:desk-shows-and-answers")
def test_a_form_is_filled_in_and_what_is_wrong_with_it_is_said(desk: Caller, screen: Screen, house: House) -> None:
    ask = house.ask("Please complete the release", kind="form", form=FORM)
    picture(screen, desk, "form")
    screen.key("Tab")
    screen.type("Willow")
    screen.key("Tab")
    screen.type("many")
    screen.key("Tab", "Tab", "space", "Tab", "space")  # Medium, and in a hurry
    screen.key(*["shift+Tab"] * 3, "Return")
    screen.gone(TITLE)
    window = picture(screen, desk, "form-again")
    assert house.open(ask) and window
    screen.key("Tab", "Tab", "ctrl+a")
    screen.type("3")
    screen.key("Return")

    assert house.end_of(ask)["answer"]["fields"] == {"name": "Willow", "count": 3, "size": "m", "rush": True}


@pytest.mark.requirement("ask:desk-takes-secrets")
def test_a_secret_is_taken_here_and_kept_nowhere(desk: Caller, screen: Screen, house: House) -> None:
    ask = house.ask("The password of the printer?", secret=True)
    screen.window(TITLE)
    screen.type("hunter2 Canary")
    picture(screen, desk, "secret")
    assert house.answer(ask, text="elsewhere") == 403
    screen.key("Return")

    assert house.end_of(ask)["answer"]["text"] == "hunter2 Canary"
    assert not [file for file in desk.home.rglob("*") if file.is_file() and b"Canary" in file.read_bytes()]


@pytest.mark.requirement("ask:desk-closing-is-no-answer")
def test_rather_not_declines(desk: Caller, screen: Screen, house: House) -> None:
    ask = house.ask("Your age?")
    screen.window(TITLE)
    screen.key("Tab", "Tab", "Tab", "space")

    assert house.end_of(ask)["status"] == "declined"


@pytest.mark.requirement("ask:desk-closing-is-no-answer")
@pytest.mark.parametrize("way", ["escape", "close"])
def test_closing_the_window_answers_nothing_until_the_question_changes(
    desk: Caller, screen: Screen, house: House, way: str
) -> None:
    ask = house.ask("Well?")
    window = screen.window(TITLE)
    screen.type("half a thou")
    screen.key("Escape") if way == "escape" else screen.run("xdotool", "windowclose", window)
    screen.gone(TITLE)
    assert house.open(ask)

    house.call(f"/v1/asks/{ask}/revise", {"question": "Well, then?"}, house.living.token("health"))
    screen.window(TITLE)
    if way == "escape":
        screen.key("shift+Tab", "shift+Tab", "space")  # the draft
        screen.type("ght")
        screen.key("Return")
        assert house.end_of(ask)["answer"]["text"] == "half a thought"


@pytest.mark.requirement("ask:desk-closes-when-answered-elsewhere")
def test_what_is_answered_elsewhere_leaves_the_screen_at_once(desk: Caller, screen: Screen, house: House) -> None:
    ask = house.ask("Ship it?", kind="choice", options=["yes", "no"])
    screen.window(TITLE)
    assert house.answer(ask, value="no") == 200
    screen.gone(TITLE)

    assert house.read(ask)["answered_by"]["channel"] == "api"


@pytest.mark.requirement("ask:desk-closes-when-answered-elsewhere")
def test_of_two_desks_one_answers_and_the_other_closes(
    desk: Caller, screen: Screen, house: House, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other_screen = Screen(tmp_path_factory.mktemp("other"))
    other = watcher(other_screen, house, tmp_path_factory)
    try:
        ask = house.ask("Ship it?")
        screen.window(TITLE)
        other_screen.window(TITLE)
        other_screen.type("no")
        screen.type("yes")
        screen.key("Return")
        assert house.end_of(ask)["answer"]["text"] == "yes"
        other_screen.gone(TITLE)
    finally:
        other.stop()
        other_screen.stop()


def test_a_key_meant_for_another_window_does_not_answer_a_question_that_has_only_just_come_up(
    desk: Caller, house: House, tmp_path_factory: pytest.TempPathFactory
) -> None:
    screen = Screen(tmp_path_factory.mktemp("hasty"))
    hasty = watcher(screen, house, tmp_path_factory, settle_seconds=600)
    try:
        ask = house.ask("Ship it?")
        screen.window(TITLE)
        screen.type("no")
        screen.key("Return")
        screen.type("!")
        until(lambda: hasty.drafts() == ["no!"], "what was typed after the key")
        assert house.open(ask) and screen.windows(TITLE)
    finally:
        hasty.stop()
        screen.stop()


@pytest.mark.requirement("ask:desk-replaced-loses-nothing")
def test_a_call_of_notify_takes_the_screen_and_the_question_comes_back(
    desk: Caller, screen: Screen, house: House
) -> None:
    ask = house.ask("Which name?")
    screen.window(TITLE)
    screen.type("Will")
    until(lambda: any("Will" in one.read_text() for one in desk.home.rglob("*.json")), "the words to be kept")
    call = desk.call("First this?", title="Call")
    screen.window("Call")
    assert house.open(ask)
    second = house.ask("And another?")  # does not take the call's place
    screen.type("done")
    screen.key("Return")
    assert text_of(call) == "User response: done"

    screen.window(TITLE)
    screen.key("shift+Tab", "shift+Tab", "space")
    screen.type("ow")
    screen.key("Return")
    assert house.end_of(ask)["answer"]["text"] == "Willow"
    until(lambda: screen.windows(TITLE), "the other question")
    assert house.open(second)


# A desk that watches a household.


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.mark.requirement("ask:desk-waits-for-household")
def test_an_answer_given_while_the_household_is_away_arrives_when_it_is_back(
    screen: Screen, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home, ports = tmp_path_factory.mktemp("away"), {"ports": {"api": free_port()}}
    house = House(home, ports)
    desk = watcher(screen, house, tmp_path_factory)
    try:
        ask = house.ask("Which name?")
        screen.window(TITLE)
        house.stop()
        screen.type("Willow")
        assert screen.windows(TITLE)
        screen.key("Return")
        until(lambda: screen.windows("Postroom"), "the line that says so")
        house = House(home, ports)

        assert house.end_of(ask)["answer"]["text"] == "Willow"
    finally:
        desk.stop()
        house.stop()


# What is shown, and what was done with it.

LOOK = Look(token="t1", turn_file="turn", drafts=Path("drafts"), palette="dark", message_seconds=2.0)
TEXT = Wording(kind=QuestionKind.TEXT, question="Why?")
PAIR = (Option(value="a", label="Now"), Option(value="b", label="Later", description="at night"))
CHOICE = Wording(kind=QuestionKind.CHOICE, question="When?", context="It rains.", options=PAIR)
NAME_FORM = {"type": "object", "properties": {"name": {"type": "string"}}}
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
        (Wording(kind=QuestionKind.FORM, question="Fill in", form=NAME_FORM), False, False),
    ],
)
def test_words_are_taken_where_they_answer(wording: Wording, has_reply: bool, ends_by_choosing: bool) -> None:
    made = sheet(wording)

    assert (made.has_reply, made.ends_by_choosing) == (has_reply, ends_by_choosing)
    assert (made.needs_answer, made.decline_label, made.cancel_label) == (True, "Rather not", "Later")
    assert decode_sheet(encode(made)) == made


def test_the_popup_says_who_asks_and_what_the_options_mean() -> None:
    made = sheet(CHOICE)

    assert (made.title, made.project) == ("Question from health", "health asks")
    assert made.message == "When?\n\nIt rains.\n\nLater: at night"
    assert (made.options, made.palette) == (("Now", "Later"), "dark")


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


def form(field: dict[str, Any], **more: Any) -> Wording:
    schema = {"type": "object", "properties": {"it": field}, **more}
    return Wording(kind=QuestionKind.FORM, question="Fill in", form=schema)


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
    [line] = sheet_fields(form(field))

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
    assert sheet_fields(form(field))[0].hint == hint


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
    assert sheet_fields(form(field))[0].value == value
    assert sheet_fields(form(field), {"it": ("a",)})[0].value == ("a",)
    assert sheet_fields(form(field), {})[0].value == ()


@pytest.mark.parametrize(
    ("field", "typed", "value"),
    [
        ({"type": "string"}, ["12"], "12"),
        ({"type": "integer"}, [" 12 "], 12),
        ({"type": "number"}, ["1.5"], 1.5),
        ({"type": "integer"}, ["many"], "many"),
        ({"type": "boolean"}, ["false"], False),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, ["a", "b"], ["a", "b"]),
    ],
)
def test_what_was_filled_in_has_the_type_of_the_field(field: dict[str, Any], typed: list[str], value: Any) -> None:
    assert given(form(field), PopupEnding(outcome=PopupOutcome.SUBMITTED, fields={"it": typed})) == Said(
        fields={"it": value}
    )
    assert given(form(field), PopupEnding(outcome=PopupOutcome.SUBMITTED)) == Said(fields={})


def test_a_required_field_is_marked_and_a_title_is_its_label() -> None:
    [line] = sheet_fields(form({"type": "string", "title": "The thing"}, required=["it"]))

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
        (GIVEN_TEXT, PopupEnding(outcome=PopupOutcome.SUBMITTED, text=" so \n"), Said(text=" so \n")),
        (ONE, PopupEnding(outcome=PopupOutcome.SUBMITTED, chosen=("Beta",)), Said(value="b")),
        (ONE, PopupEnding(outcome=PopupOutcome.SUBMITTED, text="neither"), Said(text="neither")),
        (SEVERAL, PopupEnding(outcome=PopupOutcome.SUBMITTED, chosen=("Alpha", "Beta")), Said(selected=("a", "b"))),
        (GIVEN_FORM, PopupEnding(outcome=PopupOutcome.SUBMITTED, fields={"n": ("3",)}), Said(fields={"n": 3})),
        (GIVEN_TEXT, PopupEnding(outcome=PopupOutcome.DECLINED), Said(declined=True)),
    ],
)
def test_an_answer_has_the_form_of_its_question(wording: Wording, ending: PopupEnding, answer: Said) -> None:
    assert given(wording, ending) == answer


@pytest.mark.requirement("ask:desk-closing-is-no-answer")
@pytest.mark.parametrize("outcome", sorted(set(PopupOutcome) - {PopupOutcome.SUBMITTED, PopupOutcome.DECLINED}))
def test_no_other_end_of_a_popup_is_an_answer(outcome: PopupOutcome) -> None:
    assert given(ONE, PopupEnding(outcome=outcome, text="typed", chosen=("Beta",))) is None
