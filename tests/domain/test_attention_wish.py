"""What an agent asks for a message beyond its text."""

from __future__ import annotations

from typing import Any

import pytest

from postroom.domain.attention import AttentionWish
from postroom.domain.attention_wish import read_wish, wish_object
from postroom.domain.errors import ValidationError
from postroom.domain.fields import Fields
from postroom.domain.risk_and_urgency import Urgency

WHOLE: dict[str, Any] = {
    "urgency": "critical",
    "category": "security",
    "thread": "build 7",
    "supersedes": "build-7",
    "needs_ack": True,
    "expires_in_seconds": 3600,
}


def read(asked: dict[str, Any]) -> AttentionWish | None:
    fields = Fields(asked, whole="delivery")
    wish = read_wish(fields)
    fields.finish()
    return wish


def test_a_message_that_asks_for_nothing_has_no_wish() -> None:
    assert read({"message": "hello"}) is None
    assert wish_object(None) == {}


def test_a_wish_comes_through_a_wire_as_it_was_asked() -> None:
    wish = read(WHOLE)
    assert wish is not None and wish.urgency is Urgency.CRITICAL
    assert wish_object(wish) == WHOLE
    assert read(wish_object(wish)) == wish


@pytest.mark.parametrize(
    ("name", "value"),
    [("urgency", "asap"), ("needs_ack", "yes"), ("expires_in_seconds", 0), ("expires_in_seconds", True)],
)
def test_what_is_wrong_is_named(name: str, value: object) -> None:
    with pytest.raises(ValidationError) as refused:
        read({name: value})
    assert [one.field for one in refused.value.fields] == [name]
