"""Approvals on a page: what an edit changes, and standing rules as a form."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.clock import START_US

from postroom.approvals.model import Constraint, ConstraintKind
from postroom.approvals.page import DifferencePiece, difference, rule_request, rule_wish
from postroom.approvals.rules import RuleRequest
from postroom.console.visit import Form
from postroom.kernel.values.errors import ValidationError

# -- What an edit changes, word by word --


TEXTS = st.text(alphabet=st.sampled_from("ab \n"), max_size=40)


def test_a_word_is_exchanged() -> None:
    assert difference("Come at nine, please", "Come at ten, please") == [
        DifferencePiece("same", "Come at "),
        DifferencePiece("gone", "nine,"),
        DifferencePiece("new", "ten,"),
        DifferencePiece("same", " please"),
    ]


@given(TEXTS, TEXTS)
def test_both_texts_can_be_read_from_it(before: str, after: str) -> None:
    parts = difference(before, after)

    assert "".join(part.text for part in parts if part.kind != "new") == before
    assert "".join(part.text for part in parts if part.kind != "gone") == after


@given(TEXTS)
def test_the_same_is_the_same(text: str) -> None:
    assert {part.kind for part in difference(text, text)} <= {"same"}


# Word for word, these would keep the whole household waiting for half an hour.
@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("a " * 50_000, "b " + "a " * 49_999, id="a word at the beginning"),
        pytest.param("a " * 50_000, "b " + "a " * 49_998 + "b", id="at both ends"),
        pytest.param("a b " * 25_000, "b a " * 25_000, id="everything moved"),
    ],
)
def test_a_long_text_of_one_word_is_compared_at_once(before: str, after: str) -> None:
    parts = difference(before, after)

    assert "".join(part.text for part in parts if part.kind != "new") == before
    assert "".join(part.text for part in parts if part.kind != "gone") == after


def test_a_small_change_of_a_long_text_stays_small() -> None:
    words = [f"word{number}" for number in range(20_000)]
    changed = [*words[:10_000], "another", *words[10_001:]]

    parts = difference(" ".join(words), " ".join(changed))

    assert [(part.kind, part.text) for part in parts if part.kind != "same"] == [
        ("gone", "word10000"),
        ("new", "another"),
    ]


# -- A standing rule, read from what a person filled in --


DAY_US = 24 * 3600 * 1_000_000


def form(**fields: str) -> Form:
    return Form(tuple(fields.items()))


def test_a_box_that_is_not_ticked_asks_for_no_rule() -> None:
    assert rule_wish(form(max_uses="3", description="x"), START_US) is None


def test_a_rule_with_an_approval_takes_the_bounds_alone() -> None:
    assert rule_wish(form(rule="yes", max_uses=" 3 ", days="2", description=" for us "), START_US) == RuleRequest(
        description="for us", max_uses=3, expires_at_us=START_US + 2 * DAY_US
    )


def test_a_star_is_a_wildcard_only_where_the_person_says_so() -> None:
    asked = rule_request(form(recipient="*@x.example", recipient_kind="pattern", origin_butler="*"), START_US)

    assert asked.constraints == {
        "origin_butler": Constraint(ConstraintKind.EXACT, "*"),
        "recipient": Constraint(ConstraintKind.PATTERN, "*@x.example"),
    }


@pytest.mark.parametrize("typed", ["", "-1", "1.5", "many", "٣"])
def test_what_is_no_number_bounds_nothing(typed: str) -> None:
    asked = rule_request(form(channel="email", max_uses=typed, days=typed), START_US)

    assert (asked.expires_at_us, asked.max_uses) == (None, None)


def test_a_number_beyond_all_bounds_is_refused_by_its_field() -> None:
    with pytest.raises(ValidationError) as refused:
        rule_request(form(channel="email", max_uses="9" * 20, days="9" * 20), START_US)

    assert [one.field for one in refused.value.fields] == ["max_uses"]
