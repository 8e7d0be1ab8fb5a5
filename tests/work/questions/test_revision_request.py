"""Calls of revise_ask as they come."""

from __future__ import annotations

from typing import Any

import pytest
from tests.work.questions.sample_questions import new_question

from postroom.domain.delivery import Format
from postroom.domain.errors import ValidationError
from postroom.domain.question import APPROVE_OPTIONS
from postroom.domain.question_answer import QuestionAnswer
from postroom.work.questions.revision_request import check_revision


def test_what_is_not_given_stays() -> None:
    question = new_question(default="wait", context="long")

    revision = check_revision(question, {"question": "Ship it now?", "deadline_seconds": 60})

    assert (revision.wording.question, revision.deadline_seconds) == ("Ship it now?", 60)
    assert revision.wording.options == question.wording.options
    assert (revision.wording.context, revision.wording.default) == ("long", QuestionAnswer(value="wait"))


@pytest.mark.parametrize(
    "arguments",
    [
        {"multiple": True, "default": ["ship"]},
        {"options": None, "default": "later"},
        {"options": None, "form": {"type": "object", "properties": {"a": {"type": "string"}}}, "default": {"a": "x"}},
        {"kind": "approve", "options": None, "default": "deny"},
        {"options": None, "secret": True},
    ],
)
def test_a_deadline_alone_leaves_any_wording_as_it_was(arguments: dict[str, Any]) -> None:
    question = new_question(**arguments)

    assert check_revision(question, {"deadline_seconds": 60}).wording == question.wording


def test_an_approval_keeps_its_two_options() -> None:
    question = new_question(kind="approve", options=None)

    assert check_revision(question, {"question": "May I now?"}).wording.options == APPROVE_OPTIONS


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({}, "arguments"),
        ({"to": "ben"}, "to"),
        ({"kind": "text"}, "kind"),
        ({"secret": True}, "secret"),
        ({"question": ""}, "question"),
        ({"options": ["a", "b"]}, "default"),
        ({"deadline_seconds": 1}, "deadline_seconds"),
    ],
)
def test_what_cannot_be_revised_is_refused_by_its_name(arguments: dict[str, Any], field: str) -> None:
    with pytest.raises(ValidationError) as caught:
        check_revision(new_question(default="wait"), arguments)

    assert [item.field for item in caught.value.fields] == [field]


@pytest.mark.requirement("content:questions-formatted")
def test_a_revision_keeps_the_format_or_changes_it() -> None:
    question = new_question(question="*a*", format="markdown")
    assert check_revision(question, {"question": "*b*"}).wording.format is Format.MARKDOWN
    assert check_revision(question, {"format": "plain"}).wording.format is Format.PLAIN
