"""What an approval is bound to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.approvals.parked import content

from postroom.approvals.model import Content
from postroom.message.delivery import Intent
from postroom.message.markup import Button, Markup
from postroom.message.wishes import Risk

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
CONTENTS = st.builds(
    Content,
    channel=st.sampled_from(["telegram", "email"]),
    intent=st.sampled_from(Intent),
    address=TEXTS,
    thread=st.none() | TEXTS,
    subject=st.none() | TEXTS,
    message=TEXTS,
    emoji=st.none() | TEXTS,
)


@given(one=CONTENTS, other=CONTENTS)
def test_two_contents_have_one_hash_only_when_they_are_the_same(one: Content, other: Content) -> None:
    assert (one.hash == other.hash) is (one == other)


@pytest.mark.parametrize(
    "change",
    [
        {"channel": "email"},
        {"intent": Intent.REPLY},
        {"address": "556"},
        {"thread": "1"},
        {"subject": ""},
        {"message": "See you at eight "},
        {"message": "See you at e\u200bight"},
        {"emoji": "👍"},
        {"markup": Markup(buttons=((Button(label="Yes", token="t"),),))},
    ],
    ids=str,
)
def test_every_byte_that_reaches_somebody_changes_the_hash(change: dict[str, Any]) -> None:
    assert replace(content(), **change).hash != content().hash


def test_words_cannot_be_moved_from_one_field_to_the_next() -> None:
    assert content(subject="a", message="b").hash != content(subject=None, message='a","b').hash


def test_high_and_critical_are_high() -> None:
    assert [risk.is_high for risk in Risk] == [False, False, True, True]
