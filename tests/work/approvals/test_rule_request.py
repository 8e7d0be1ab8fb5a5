"""A rule as a person asks for it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.clock import START_US

from postroom.domain.approval import Constraint, ConstraintKind
from postroom.domain.errors import ValidationError
from postroom.work.approvals.rule_request import RuleRequest, parse_rule_request

EXACT = Constraint(ConstraintKind.EXACT, "555")


def test_everything_that_was_asked_for_is_in_the_rule() -> None:
    request = parse_rule_request(
        {
            "constraints": {"recipient": "555"},
            "description": " Bob ",
            "expires_at": "2026-01-02T00:00:00Z",
            "max_uses": 3,
        }
    )

    made = request.to_rule(rule_id="r", actor="user:ann", now_us=START_US)

    assert (made.constraints, made.description, made.max_uses) == ({"recipient": EXACT}, "Bob", 3)
    assert made.expires_at_us == START_US + 86_400_000_000
    assert made.created_by == "user:ann"


def test_without_constraints_the_suggestion_counts_and_with_empty_ones_it_does_not() -> None:
    suggestion = {"recipient": EXACT}

    suggested = RuleRequest().to_rule(rule_id="r", actor="o", now_us=0, suggestion=suggestion)
    explicit = parse_rule_request({"constraints": {}}).to_rule(rule_id="r", actor="o", now_us=0, suggestion=suggestion)

    assert suggested.constraints == suggestion
    assert explicit.constraints == {}


@pytest.mark.parametrize(
    ("payload", "field"),
    [
        pytest.param({"max_uses": 0}, "max_uses", id="no uses"),
        pytest.param({"max_uses": True}, "max_uses", id="a truth is no number"),
        pytest.param({"max_uses": 1.5}, "max_uses", id="half a use"),
        pytest.param({"expires_at": "tomorrow"}, "expires_at", id="no time"),
        pytest.param({"expires_at": "2026-01-02T00:00:00"}, "expires_at", id="no offset"),
        pytest.param({"active": True}, "active", id="unknown key"),
        pytest.param("yes", "create_rule", id="no object"),
        pytest.param({"constraints": {"x": 1}}, "constraints.x", id="unknown argument"),
    ],
)
def test_what_cannot_be_a_rule_is_refused(payload: Any, field: str) -> None:
    with pytest.raises(ValidationError) as caught:
        parse_rule_request(payload)

    assert [problem.field for problem in caught.value.fields] == [field]
