"""What makes two questions the same."""

from __future__ import annotations

from typing import Any

import pytest
from tests.questions.sample_questions import ANNA, BEN, new_question

from postroom.kernel.acts.reading import read
from postroom.kernel.values.errors import PostroomError, Refused
from postroom.message.delivery import Format
from postroom.message.wishes import Urgency
from postroom.questions.acts import AskPeople, ReviseAsk
from postroom.questions.model import APPROVE_OPTIONS, Option, Preview, Question, QuestionAnswer, QuestionKind, Wording
from postroom.questions.rules.request import QuestionRequest

BASE: dict[str, Any] = {"context": "é", "default": "wait"}


@pytest.mark.requirement("ask:idempotent")
@pytest.mark.parametrize(
    "change",
    [
        {"channels": ["telegram"]},
        {"deadline_seconds": 60},
        {"wait_seconds": 0},
        {"urgency": "critical"},
        {"state": {"run": 7}},
        {"remind_after_seconds": 60},
        {"idempotency_key": "k"},
        {"context": "e\u0301"},
        {"people": (BEN, ANNA)},
        {"now_us": 7},
        {"format": "plain"},
    ],
)
def test_how_it_is_waited_for_and_shown_makes_no_difference(change: dict[str, Any]) -> None:
    assert new_question(**{**BASE, **change}).fingerprint == new_question(**BASE).fingerprint


@pytest.mark.requirement("ask:idempotent")
@pytest.mark.parametrize(
    "change",
    [
        {"question": "Ship it!"},
        {"format": "markdown"},
        {"context": "e"},
        {"context": None},
        {"options": ["wait", "ship"]},
        {"options": ["ship", {"value": "wait", "label": "Wait"}]},
        {"multiple": True, "default": ["wait"]},
        {"allow_text": False},
        {"default": "ship"},
        {"default": None},
        {"default": None, "secret": True},
        {"people": (ANNA,)},
        {"kind": "approve", "options": None, "default": "deny"},
    ],
)
def test_what_a_person_sees_and_whom_it_asks_makes_one(change: dict[str, Any]) -> None:
    assert new_question(**{**BASE, **change}).fingerprint != new_question(**BASE).fingerprint


FORM = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
    "required": ["name"],
}


def complaints(**arguments: Any) -> dict[str, str]:
    with pytest.raises(Refused) as caught:
        asked(**arguments)
    return {item.field: item.code for item in caught.value.fields}


def asked(**arguments: Any) -> QuestionRequest:
    return read(AskPeople, {"question": "Well?", **arguments})[0].request()


def revised(before: Question, **arguments: Any) -> Wording:
    return read(ReviseAsk, {"ask_id": before.id, **arguments})[0].words.revised(before.wording)


def test_a_plain_question_has_the_defaults_of_the_contract() -> None:
    request = asked(question="  Where?  ")

    assert (request.wording.kind, request.wording.question) == (QuestionKind.TEXT, "Where?")
    assert (request.to, request.channels, request.key, request.state) == ((), None, None, None)
    assert request.deadline_seconds == 86_400
    assert (request.urgency, request.preview) == (Urgency.NORMAL, Preview.FULL)
    assert (request.wording.allow_text, request.wording.secret, request.wording.multiple) == (True, False, False)


def test_options_are_texts_or_objects_and_make_a_choice() -> None:
    request = asked(question="Which?", options=["a", {"value": "b", "label": "Bee", "description": "buzz"}])

    assert request.wording.kind is QuestionKind.CHOICE
    assert request.wording.options == (
        Option(value="a", label="a"),
        Option(value="b", label="Bee", description="buzz"),
    )


def test_an_approval_has_two_options_of_its_own() -> None:
    assert asked(question="May I?", kind="approve").wording.options == APPROVE_OPTIONS


def test_everything_given_is_kept() -> None:
    request = asked(
        question="Which?",
        kind="choice",
        options=["a", "b"],
        multiple=True,
        default=["b", "a"],
        recipient=["anna", " ben ", "anna"],
        channels="telegram",
        context="long story",
        urgency="critical",
        preview="none",
        deadline_seconds=30,
        state={"a": [1]},
        idempotency_key="k",
        resume={"prompt": "go on", "material": {"x": 1}},
    )

    assert (request.to, request.channels) == (("anna", "ben"), ("telegram",))
    assert request.wording.default == QuestionAnswer(selected=("a", "b"))
    assert (request.deadline_seconds, request.key) == (30, "k")
    assert request.resume is not None
    assert (request.resume.prompt, request.resume.butler) == ("go on", None)


@pytest.mark.requirement("ask:limits")
def test_everything_that_is_wrong_is_said_at_once() -> None:
    wrong = complaints(question="", deadline_seconds=29, wait_seconds=281, urgency="now", colour="red", secret="yes")

    assert wrong == {
        "colour": "unknown_field",
        "question": "blank",
        "secret": "bool_required",
        "deadline_seconds": "out_of_range",
        "urgency": "not_allowed",
        "wait_seconds": "out_of_range",
    }


@pytest.mark.requirement("ask:limits")
@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"question": "x" * 4_001}, "question"),
        ({"question": None}, "question"),
        ({"question": 7}, "question"),
        ({"question": "a\x00b"}, "question"),
        ({"question": "\ud800"}, "question"),
        ({"context": "x" * 24_001}, "context"),
        ({"context": 7}, "context"),
        ({"kind": "poll"}, "kind"),
        ({"kind": "choice"}, "options"),
        ({"options": []}, "options"),
        ({"options": [str(number) for number in range(21)]}, "options"),
        ({"options": "a,b"}, "options"),
        ({"options": ["a", "a"]}, "options"),
        ({"options": ["a", "A"]}, "options"),
        ({"options": ["a", "a\u200b"]}, "options"),
        ({"options": [{"label": "x"}]}, "options.0.value"),
        ({"options": [{"value": "x", "colour": "red"}]}, "options.0.colour"),
        ({"options": [{"value": "x", "label": "\u200b"}]}, "options.0.label"),
        ({"options": ["a", 7]}, "options.1"),
        ({"kind": "approve", "options": ["yes"]}, "options"),
        ({"kind": "text", "options": ["yes"]}, "options"),
        ({"multiple": True}, "multiple"),
        ({"multiple": 1}, "multiple"),
        ({"kind": "form"}, "form"),
        ({"kind": "text", "form": FORM}, "form"),
        ({"deadline_seconds": 30 * 86_400 + 1}, "deadline_seconds"),
        ({"deadline_seconds": float("nan")}, "deadline_seconds"),
        ({"deadline_seconds": True}, "deadline_seconds"),
        ({"deadline_seconds": "60"}, "deadline_seconds"),
        ({"wait_seconds": -1}, "wait_seconds"),
        ({"remind_after_seconds": 60, "deadline_seconds": 60}, "remind_after_seconds"),
        ({"escalate_to": "anna"}, "escalate_after_seconds"),
        ({"escalate_after_seconds": 60}, "escalate_to"),
        ({"recipient": []}, "recipient"),
        ({"to": [7]}, "to.0"),
        ({"recipient": ["x"] * 21}, "recipient"),
        ({"channels": [""]}, "channels.0"),
        ({"state": "x" * 65_536}, "state"),
        ({"state": float("inf")}, "state"),
        ({"state": "\ud800"}, "state"),
        ({"idempotency_key": ""}, "idempotency_key"),
        ({"idempotency_key": "x" * 256}, "idempotency_key"),
        ({"resume": "go"}, "resume"),
        ({"resume": {}}, "resume.prompt"),
        ({"resume": {"prompt": "x", "material": 7}}, "resume.material"),
        ({"resume": {"prompt": "x", "material": {"a": "x" * 65_536}}}, "resume.material"),
        ({"preview": "some"}, "preview"),
    ],
)
def test_what_is_past_a_limit_is_refused_by_its_name(arguments: dict[str, Any], field: str) -> None:
    assert list(complaints(**arguments)) == [field]


@pytest.mark.requirement("ask:limits")
def test_a_wrong_default_is_said_beside_everything_else() -> None:
    assert complaints(urgency="now", options=["a"], default="b") == {"urgency": "not_allowed", "default": "not_allowed"}


@pytest.mark.requirement("ask:default")
@pytest.mark.parametrize(
    "arguments",
    [
        {"kind": "approve", "default": "approve"},
        {"kind": "approve", "default": True},
        {"options": ["a", "b"], "default": "c"},
        {"options": ["a", "b"], "default": ["a"]},
        {"options": ["a", "b"], "multiple": True, "default": []},
        {"options": ["a", "b"], "multiple": True, "default": ["a", "c"]},
        {"default": 7},
        {"default": "  "},
        {"form": FORM, "default": {"age": 3}},
        {"form": FORM, "default": {}},
        {"secret": True, "default": "x"},
    ],
)
def test_a_default_that_no_person_could_have_answered_is_refused(arguments: dict[str, Any]) -> None:
    assert complaints(**arguments) == {"default": "not_allowed"}


@pytest.mark.requirement("ask:default")
@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ({"kind": "approve", "default": "deny"}, QuestionAnswer(value="deny")),
        ({"options": ["a", "b"], "default": "a"}, QuestionAnswer(value="a")),
        ({"default": "later"}, QuestionAnswer(text="later")),
        ({"form": FORM, "default": {"name": "x"}}, QuestionAnswer(fields={"name": "x"})),
    ],
)
def test_a_legal_default_is_kept_as_an_answer(arguments: dict[str, Any], answer: QuestionAnswer) -> None:
    assert asked(**arguments).wording.default == answer


@pytest.mark.requirement("content:questions-formatted", "content:format-refused")
def test_a_question_may_be_markdown_and_is_plain_without_a_word() -> None:
    assert asked(question="*a*").wording.format is Format.PLAIN
    assert asked(question="*a*", format="markdown").wording.format is Format.MARKDOWN
    with pytest.raises(Refused, match="format"):
        asked(question="a", format="html")
    with pytest.raises(Refused, match="context"):
        asked(question="a", format="markdown", context="a" * 20_001)
    assert asked(question="a", context="a" * 20_001).wording.context


def test_what_is_not_given_stays() -> None:
    question = new_question(default="wait", context="long")

    wording = revised(question, question="Ship it now?", deadline_seconds=60)

    assert (wording.question, wording.options) == ("Ship it now?", question.wording.options)
    assert (wording.context, wording.default) == ("long", QuestionAnswer(value="wait"))


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

    assert revised(question, deadline_seconds=60) == question.wording


def test_an_approval_keeps_its_two_options() -> None:
    question = new_question(kind="approve", options=None)

    assert revised(question, question="May I now?").options == APPROVE_OPTIONS


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({}, "question"),
        ({"to": "ben"}, "to"),
        ({"kind": "text"}, "kind"),
        ({"secret": True}, "secret"),
        ({"question": ""}, "question"),
        ({"options": ["a", "b"]}, "default"),
        ({"deadline_seconds": 1}, "deadline_seconds"),
    ],
)
def test_what_cannot_be_revised_is_refused_by_its_name(arguments: dict[str, Any], field: str) -> None:
    with pytest.raises(PostroomError) as caught:
        revised(new_question(default="wait"), **arguments)

    assert [item.field for item in caught.value.fields] == [field]


@pytest.mark.requirement("content:questions-formatted")
def test_a_revision_keeps_the_format_or_changes_it() -> None:
    question = new_question(question="*a*", format="markdown")
    assert revised(question, question="*b*").format is Format.MARKDOWN
    assert revised(question, format="plain").format is Format.PLAIN
