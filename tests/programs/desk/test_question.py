from __future__ import annotations

from typing import Any

import pytest

from postroom.domain.errors import ValidationError
from postroom.programs.desk.question import PopupQuestion, parse


def test_the_defaults_are_the_specified_ones() -> None:
    assert parse({"message": "Hi"}) == PopupQuestion(
        message="Hi",
        wait_for_response=True,
        timeout=None,
        title="VoiceMode",
        show_history=True,
        chime_enabled=False,
        theme="auto",
    )


@pytest.mark.parametrize("message", ["x", "x" * 10_000, " ", "😀" * 10_000, '{"json": 1}', "null"])
@pytest.mark.requirement("popup:message-limits")
def test_messages_within_the_limits_are_taken_as_they_are(message: str) -> None:
    assert parse({"message": message}).message == message


@pytest.mark.parametrize(
    ("arguments", "field", "limits"),
    [
        pytest.param({}, "message", "1 to 10000 characters", id="message missing"),
        pytest.param({"message": ""}, "message", "1 to 10000 characters", id="message empty"),
        pytest.param({"message": "x" * 10_001}, "message", "1 to 10000 characters", id="message too long"),
        pytest.param({"message": 5}, "message", "1 to 10000 characters", id="message not text"),
        pytest.param({"timeout": 4.9}, "timeout", "from 5 to 300", id="timeout short"),
        pytest.param({"timeout": 300.1}, "timeout", "from 5 to 300", id="timeout long"),
        pytest.param({"timeout": "30"}, "timeout", "from 5 to 300", id="timeout text"),
        pytest.param({"timeout": True}, "timeout", "from 5 to 300", id="timeout flag"),
        pytest.param({"timeout": float("nan")}, "timeout", "from 5 to 300", id="timeout nan"),
        pytest.param({"theme": "blue"}, "theme", "auto, light, dark", id="theme unknown"),
        pytest.param({"theme": ["dark"]}, "theme", "auto, light, dark", id="theme list"),
        pytest.param({"title": 1}, "title", "text", id="title"),
        pytest.param({"wait_for_response": "no"}, "wait_for_response", "true or false", id="flag"),
        pytest.param({"options": []}, "options", "1 to 20", id="no options"),
        pytest.param({"options": ["a"] * 21}, "options", "1 to 20", id="many options"),
        pytest.param({"options": ["a", "a"]}, "options", "repeat", id="same options"),
        pytest.param({"options": ["a\nb"]}, "options", "single lines", id="two-line option"),
        pytest.param({"options": [" "]}, "options", "1 to 200 characters", id="blank option"),
        pytest.param({"options": "a"}, "options", "list", id="options text"),
    ],
)
@pytest.mark.requirement("popup:message-limits")
@pytest.mark.requirement("popup:timeout-limits")
@pytest.mark.requirement("popup:theme-values")
def test_a_wrong_field_is_named_with_what_it_may_be(arguments: dict[str, Any], field: str, limits: str) -> None:
    if field != "message":
        arguments = {"message": "Hi", **arguments}
    with pytest.raises(ValidationError) as refused:
        parse(arguments)
    [error] = refused.value.fields
    assert error.field == field
    assert limits in error.error


def test_all_wrong_fields_are_named_at_once_without_their_content() -> None:
    with pytest.raises(ValidationError) as refused:
        parse({"message": "secret " * 2000, "timeout": 1, "theme": "secret"})
    assert [error.field for error in refused.value.fields] == ["message", "timeout", "theme"]
    assert "secret" not in refused.value.message


@pytest.mark.parametrize("timeout", [5, 300, 5.0, 7.5])
def test_the_ends_of_the_range_belong_to_it(timeout: float) -> None:
    assert parse({"message": "Hi", "timeout": timeout}).timeout == timeout


def test_null_is_as_good_as_nothing() -> None:
    assert parse({"message": "Hi", "timeout": None, "title": None, "options": None}) == parse({"message": "Hi"})


def test_the_message_is_not_in_the_repr() -> None:
    assert "private" not in repr(parse({"message": "private", "options": ["private"]}))


def test_an_argument_that_does_not_exist_is_refused_with_the_nearest() -> None:
    with pytest.raises(ValidationError, match=r"Unknown argument mesage: .*did you mean 'message'"):
        parse({"message": "Hi", "mesage": "Hi"})
