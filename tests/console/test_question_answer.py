"""What a press on a page means, and when two presses are the same."""

from __future__ import annotations

import pytest

from postroom.console.visit import Form
from postroom.questions.page import event_of, given_of, revision_of
from postroom.questions.rules.reading import Given
from tests.questions.sample_questions import new_question

CHOICE = new_question().wording
SEVERAL = new_question(multiple=True).wording
GIVEN = {
    "press": (CHOICE, {"value": "ship"}, Given(value="ship")),
    "rather not": (CHOICE, {"value": "ship", "declined": "yes"}, Given(declined=True)),
    "own words": (CHOICE, {"text": "a\r\nb"}, Given(text="a\nb")),
    "ticks": (SEVERAL, {"selected": "wait"}, Given(selected=("wait",))),
    "no ticks": (SEVERAL, {}, Given(selected=())),
    "nothing": (CHOICE, {}, Given(value="")),
}


@pytest.mark.parametrize(("wording", "fields", "given"), GIVEN.values(), ids=GIVEN)
def test_a_form_is_one_answer(wording: object, fields: dict[str, str], given: Given) -> None:
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
