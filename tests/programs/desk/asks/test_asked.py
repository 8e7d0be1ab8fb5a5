"""Reading the household's documents."""

from __future__ import annotations

from typing import Any

import pytest

from postroom.domain.question import Option, QuestionKind, Wording
from postroom.programs.desk.asks.asked import Ask, read_ask

ASKED: dict[str, Any] = {
    "question": "When?",
    "kind": "choice",
    "context": None,
    "options": [{"value": "a", "label": "Now", "description": None}],
    "multiple": True,
    "form": None,
    "allow_text": False,
    "secret": True,
    "asked_by": "butler:health",
    "revision": 2,
}


def test_a_question_is_read_as_it_was_asked() -> None:
    wording = Wording(
        kind=QuestionKind.CHOICE,
        question="When?",
        options=(Option(value="a", label="Now"),),
        multiple=True,
        allow_text=False,
        secret=True,
    )

    assert read_ask({"ask_id": "q1", "asked": ASKED}) == Ask(
        id="q1", revision=2, asker="butler:health", wording=wording
    )


@pytest.mark.parametrize("document", [{}, {"ask_id": "q1", "asked": ASKED | {"kind": "riddle"}}, {"asked": None}])
def test_what_cannot_be_shown_is_left_alone(document: dict[str, Any]) -> None:
    assert read_ask(document) is None
