"""Nothing that can happen is without words."""

from __future__ import annotations

from postroom.attention.model import CELLS, DecisionKind, NoticeState, Preset
from postroom.attention.pages.shown import (
    CELL_WORDS,
    COMING_WORDS,
    DECISION_WORDS,
    PRESET_WORDS,
    REASON_WORDS,
    STATE_WORDS,
    policy_words,
    reason_words,
)
from postroom.attention.rules.policy import parse_policy
from postroom.kernel.values.ids import parse_text
from postroom.message.wishes import Because, HoldReason

NOON = parse_text("2026-07-01T10:00:00Z")


def test_every_state_cell_reason_decision_and_preset_has_words() -> None:
    assert set(STATE_WORDS) == set(NoticeState)
    assert set(CELL_WORDS) == {*CELLS, "escalated"}
    assert set(REASON_WORDS) == set(Because)
    assert set(DECISION_WORDS) == set(COMING_WORDS) == set(DecisionKind)
    assert set(PRESET_WORDS) == set(Preset)


def test_the_reason_that_binds_comes_first_and_says_until_when_unless_that_is_said_already() -> None:
    reasons = [HoldReason(Because.CEILING), HoldReason(Because.QUIET, NOON)]

    assert reason_words(reasons, "Europe/Vienna")[0] == "quiet hours, until Wed 1 Jul 2026, 12:00"
    assert reason_words(reasons, "Europe/Vienna", NOON)[0] == "quiet hours"


def test_a_policy_is_said_without_what_is_not_set() -> None:
    policy = parse_policy(
        {
            "quiet_hours": [],
            "budget": {"per_day": 5},
            "escalation": [{"after_seconds": 600, "channel": "email"}, {"after_seconds": 60, "person": "ann"}],
            "agents": {"noisy": {"ceiling": "passive"}},
            "expires_seconds": 600,
        }
    )

    assert policy_words(policy) == [
        ("Quiet hours", "none"),
        ("Interruptions by one agent", "5 a day"),
        ("Agents", "noisy at most can wait"),
        ("Escalation", "after 10 minutes by email; after 1 minute to ann"),
        ("Also set", "expires_seconds"),
    ]
