from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.desk.acts import PopupQuestion
from postroom.desk.model import (
    PopupEnding,
    PopupOutcome,
    PopupSettings,
    Sheet,
    answer,
    from_settings,
)
from postroom.desk.window.window import decode_sheet, encode
from postroom.kernel.acts.reading import read
from postroom.kernel.values.errors import Refused, SettingsError
from postroom.settings.load import load


@pytest.mark.parametrize(
    ("ending", "expected"),
    [
        pytest.param(
            PopupEnding(outcome=PopupOutcome.SUBMITTED, text=" a\n b "), "User response:  a\n b ", id="submitted"
        ),
        pytest.param(PopupEnding(outcome=PopupOutcome.EMPTY), "User submitted empty response", id="empty"),
        pytest.param(PopupEnding(outcome=PopupOutcome.DISPLAYED), "✓ Message displayed successfully", id="displayed"),
        pytest.param(PopupEnding(outcome=PopupOutcome.CANCELLED), "User cancelled the popup", id="cancelled"),
        pytest.param(PopupEnding(outcome=PopupOutcome.DISMISSED), "User dismissed the popup", id="dismissed"),
        pytest.param(
            PopupEnding(outcome=PopupOutcome.REPLACED), "User cancelled or dismissed the popup", id="replaced"
        ),
        pytest.param(
            PopupEnding(outcome=PopupOutcome.HEADLESS),
            "Error: Cannot display popup - no display available. This feature requires a graphical environment.",
            id="headless",
        ),
    ],
)
@pytest.mark.requirement("popup:submitted")
@pytest.mark.requirement("popup:replaced")
@pytest.mark.requirement("popup:headless")
def test_every_end_has_its_sentence(ending: PopupEnding, expected: str) -> None:
    assert answer(ending) == expected


@pytest.mark.parametrize(
    ("timeout", "expected"),
    [(30, "30s"), (30.0, "30s"), (7.5, "7.5s"), (300, "300s")],
    ids=["whole", "whole as float", "fraction", "longest"],
)
@pytest.mark.requirement("popup:timeout-value")
def test_a_timeout_is_named_as_it_was_asked_for(timeout: float, expected: str) -> None:
    assert answer(PopupEnding(outcome=PopupOutcome.TIMEOUT), timeout) == f"No response within {expected} timeout"


def test_a_crash_is_never_called_dismissed() -> None:
    assert "dismissed" not in answer(PopupEnding(outcome=PopupOutcome.CRASHED))


@given(st.text(min_size=1).filter(str.strip), st.lists(st.text(min_size=1), max_size=3))
def test_no_typed_character_is_changed(text: str, chosen: list[str]) -> None:
    reply = answer(PopupEnding(outcome=PopupOutcome.SUBMITTED, text=text, chosen=tuple(chosen)))
    assert reply == "User response: " + "\n".join([*chosen, text])


def test_an_option_alone_leaves_no_blank_line() -> None:
    assert answer(PopupEnding(outcome=PopupOutcome.SUBMITTED, text=" ", chosen=("Yes",))) == "User response: Yes"


def test_what_was_typed_is_not_in_the_repr() -> None:
    assert "private" not in repr(PopupEnding(outcome=PopupOutcome.SUBMITTED, text="private", chosen=("private",)))


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
        pytest.param({}, "message", "is required", id="message missing"),
        pytest.param({"message": ""}, "message", "at least 1 characters", id="message empty"),
        pytest.param({"message": "x" * 10_001}, "message", "at most 10000 characters", id="message too long"),
        pytest.param({"message": 5}, "message", "must be text", id="message not text"),
        pytest.param({"timeout": 4.9}, "timeout", "at least 5", id="timeout short"),
        pytest.param({"timeout": 300.1}, "timeout", "at most 300", id="timeout long"),
        pytest.param({"timeout": "30"}, "timeout", "must be a number", id="timeout text"),
        pytest.param({"timeout": True}, "timeout", "must be a number", id="timeout flag"),
        pytest.param({"timeout": float("nan")}, "timeout", "number", id="timeout nan"),
        pytest.param({"theme": "blue"}, "theme", "auto, light or dark", id="theme unknown"),
        pytest.param({"theme": ["dark"]}, "theme", "auto, light or dark", id="theme list"),
        pytest.param({"title": 1}, "title", "text", id="title"),
        pytest.param({"wait_for_response": "no"}, "wait_for_response", "true or false", id="flag"),
        pytest.param({"options": []}, "options", "at least 1", id="no options"),
        pytest.param({"options": ["a"] * 21}, "options", "at most 20", id="many options"),
        pytest.param({"options": ["a", "a"]}, "options", "repeat", id="same options"),
        pytest.param({"options": ["a\nb"]}, "options.0", "single line", id="two-line option"),
        pytest.param({"options": [" "]}, "options.0", "blank", id="blank option"),
        pytest.param({"options": "a"}, "options", "list", id="options text"),
    ],
)
@pytest.mark.requirement("popup:message-limits")
@pytest.mark.requirement("popup:timeout-limits")
@pytest.mark.requirement("popup:theme-values")
def test_a_wrong_field_is_named_with_what_it_may_be(arguments: dict[str, Any], field: str, limits: str) -> None:
    if field != "message":
        arguments = {"message": "Hi", **arguments}
    with pytest.raises(Refused) as refused:
        parse(arguments)
    [error] = refused.value.fields
    assert error.field == field
    assert limits in error.error


def test_all_wrong_fields_are_named_at_once_without_their_content() -> None:
    with pytest.raises(Refused) as refused:
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
    with pytest.raises(Refused, match="mesage: unknown field, did you mean 'message'"):
        parse({"message": "Hi", "mesage": "Hi"})


def parse(arguments: dict[str, Any]) -> PopupQuestion:
    return read(PopupQuestion, arguments)[0]


def settings(**environ: str) -> PopupSettings:
    household, _ = load({"HOME": "/users/me", **environ})
    return from_settings(household, environ, working_directory=Path("/srv/project"), user_home=Path("/users/me"))


def test_nothing_needs_to_be_set() -> None:
    assert settings() == PopupSettings(
        home=Path("/users/me/.local/share/postroom"),
        voicemode=Path("/users/me/.voicemode"),
        project_path="/srv/project",
    )


def test_the_household_decides_and_voicemode_says_where_its_log_is() -> None:
    chosen = settings(POSTROOM_HOME="/data", POSTROOM_DESK__HISTORY_LIMIT="9", VOICEMODE_BASE_DIR="/vm")

    assert (chosen.home, chosen.voicemode) == (Path("/data"), Path("/vm"))
    assert chosen.history_limit == 9


@pytest.mark.parametrize(
    ("name", "value"),
    [("HISTORY_LIMIT", "many"), ("HISTORY_LIMIT", "-1"), ("SHOW_SECONDS", "0")],
)
def test_a_wrong_value_names_its_variable(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"POSTROOM_DESK__{name}"):
        settings(**{f"POSTROOM_DESK__{name}": value})


@given(st.text(), st.lists(st.tuples(st.sampled_from(["stt", "tts"]), st.text())), st.lists(st.text()))
def test_a_sheet_arrives_as_it_was_sent_in_one_line(
    message: str, history: list[tuple[str, str]], options: list[str]
) -> None:
    sheet = Sheet(
        message=message,
        title="T",
        history=tuple(history),
        options=tuple(options),
        timeout_seconds=7.5,
        draft_file="d",
        turn_file="t",
        turn_token="x",
    )
    line = encode(sheet)
    assert line.count(b"\n") == 1
    assert decode_sheet(line) == sheet


def test_texts_are_not_in_the_repr() -> None:
    sheet = Sheet(
        message="private", title="T", history=(("stt", "private"),), draft_file="", turn_file="", turn_token=""
    )
    assert "private" not in repr(sheet)
