from __future__ import annotations

from typing import Any

import pytest
from tests.domain.test_session import session

from postroom.domain.errors import ValidationError
from postroom.work.butlers.session_prompt import request_text, session_prompt


def prompt(context: dict[str, Any] | None) -> str:
    return session_prompt(
        session(context), description="Looks after health.", server="general", conversations={"telegram", "email"}
    )


def test_the_request_stands_below_the_line_and_unchanged() -> None:
    head, _, request = prompt(None).partition("---\n")

    assert request == "canary"
    assert 'You are "general"' in head and "Looks after health." in head and 'MCP server "general"' in head


@pytest.mark.parametrize(("channel", "is_told"), [("telegram", True), ("email", True), ("mcp", False)])
def test_a_model_is_told_how_to_answer_in_a_conversation(channel: str, is_told: bool) -> None:
    assert ('intent="reply"' in prompt({"source_channel": channel})) is is_told


def test_what_comes_with_a_request_is_marked_as_data() -> None:
    assert request_text("Do it.", {"a": "ü"}) == 'Do it.\n\nContext, as data:\n{\n "a": "ü"\n}'
    assert request_text("Do it.") == "Do it."


@pytest.mark.parametrize("text", ["", " \n", "a\x00b", "\ud800", "x" * 100_001])
def test_a_request_that_cannot_be_carried_is_refused_without_repeating_it(text: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        request_text(text)

    assert [one.field for one in refusal.value.fields] == ["prompt"]
    assert len(refusal.value.message) < 100
