"""The popup of each kind of question."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from postroom.domain.delivery import Format
from postroom.domain.question import APPROVE_OPTIONS, Option, QuestionKind, Wording
from postroom.programs.desk.asks.asked import Ask
from postroom.programs.desk.asks.card import Before, asker_name, labels, message_sheet, question_sheet
from postroom.programs.desk.desk import Look
from postroom.programs.desk.wire import Sheet, decode_sheet, encode_sheet

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
