"""What makes two questions the same."""

from __future__ import annotations

from typing import Any

import pytest
from tests.work.questions.sample_questions import ANNA, BEN, new_question

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
