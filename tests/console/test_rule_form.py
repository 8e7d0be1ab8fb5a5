"""A standing rule, read from what a person filled in."""

from __future__ import annotations

import pytest

from postroom.approvals.page import rule_request, rule_wish
from postroom.approvals.rules import parse_rule_request
from postroom.console.visit import Form
from postroom.kernel.values.ids import to_text
from tests.clock import START_US

DAY_US = 24 * 3600 * 1_000_000


def form(**fields: str) -> Form:
    return Form(tuple(fields.items()))


def test_a_box_that_is_not_ticked_asks_for_no_rule() -> None:
    assert rule_wish(form(max_uses="3", description="x"), START_US) is False


def test_a_rule_with_an_approval_takes_the_bounds_alone() -> None:
    assert rule_wish(form(rule="yes", max_uses=" 3 ", days="2", description=" for us "), START_US) == {
        "description": "for us",
        "max_uses": 3,
        "expires_at": to_text(START_US + 2 * DAY_US),
    }


def test_a_star_is_a_wildcard_only_where_the_person_says_so() -> None:
    asked = rule_request(form(recipient="*@x.example", recipient_kind="pattern", origin_butler="*"), START_US)

    assert asked["constraints"] == {
        "origin_butler": {"type": "exact", "value": "*"},
        "recipient": {"type": "pattern", "value": "*@x.example"},
    }


@pytest.mark.parametrize("typed", ["", "-1", "1.5", "many", "٣", "99999999999999999999"])
def test_whatever_is_typed_is_a_request_that_can_be_read_or_refused(typed: str) -> None:
    asked = rule_request(form(channel="email", max_uses=typed, days=typed), START_US)

    assert "expires_at" not in asked
    if asked.get("max_uses", 1) <= 1_000_000:
        parse_rule_request(asked)
