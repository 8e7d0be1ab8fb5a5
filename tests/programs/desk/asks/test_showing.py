"""Questions of a living household on a real screen, answered with real keys."""

from __future__ import annotations

from typing import Any

import pytest
from tests.programs.desk.asks.conftest import watcher
from tests.programs.desk.asks.house import House
from tests.programs.desk.caller import Caller, text_of
from tests.programs.desk.conftest import ARTEFACTS
from tests.programs.desk.screen import Screen, until

TITLE = "Question from health"
FORM: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Name of the release", "description": "As it stands in the changelog"},
        "count": {"type": "integer", "title": "Machines", "minimum": 1, "maximum": 9},
        "size": {"type": "string", "enum": ["s", "m"], "enumNames": ["Small", "Medium"], "title": "Size"},
        "rush": {"type": "boolean", "title": "In a hurry?"},
    },
    "required": ["name", "count"],
}


def picture(screen: Screen, desk: Caller, name: str) -> str:
    window = screen.window(TITLE)
    screen.picture(ARTEFACTS / "asks" / f"{name}.png", window)
    return window


@pytest.mark.requirement("ask:desk-shows-and-answers")
def test_a_question_is_answered_in_words(desk: Caller, screen: Screen, house: House) -> None:
    ask = house.ask("Which name shall the release have?", context="The last one was Juniper.")
    picture(screen, desk, "text")
    screen.key("Return")  # nothing is no answer
    screen.type("Willow")
    screen.key("Return")

    ended = house.end_of(ask)

    assert (ended["status"], ended["answer"]["text"]) == ("answered", "Willow")
    assert (ended["answered_by"]["channel"], ended["answered_by"]["assurance"]) == ("desk", "signed_in")
    screen.gone(TITLE)
    until(lambda: not desk.drafts(), "the draft to be gone")


@pytest.mark.requirement("ask:desk-shows-and-answers")
def test_one_of_several_options_is_chosen_with_the_keyboard(desk: Caller, screen: Screen, house: House) -> None:
    options = [{"value": "a", "label": "Now", "description": "takes a minute"}, {"value": "b", "label": "Tonight"}]
    ask = house.ask("When shall I deploy?", kind="choice", options=options)
    picture(screen, desk, "choice")
    screen.key("shift+Tab", "space")

    assert house.end_of(ask)["answer"]["value"] == "b"
    screen.gone(TITLE)


@pytest.mark.requirement("ask:desk-shows-and-answers")
def test_several_options_are_chosen_and_sent(desk: Caller, screen: Screen, house: House) -> None:
    ask = house.ask("Which?", kind="choice", options=["red", "green", "blue"], multiple=True, allow_text=False)
    window = picture(screen, desk, "several")
    screen.key("Tab", "space", "Tab", "Tab", "space")
    screen.picture(ARTEFACTS / "asks" / "several-chosen.png", window)
    screen.key("Tab", "space")

    assert house.end_of(ask)["answer"]["selected"] == ["red", "blue"]


@pytest.mark.requirement("ask:desk-shows-and-answers")
def test_approving_takes_a_button_and_a_stray_enter_decides_nothing(desk: Caller, screen: Screen, house: House) -> None:
    ask = house.ask("May I delete the old backups?", kind="approve", context="42 files, 3 GB")
    picture(screen, desk, "approve")
    screen.key("Return", "y", "Return", "space")
    assert house.open(ask) and screen.windows(TITLE)
    screen.key("Tab", "space")

    assert house.end_of(ask)["answer"]["value"] == "approve"


@pytest.mark.requirement("ask:desk-shows-and-answers")
def test_a_form_is_filled_in_and_what_is_wrong_with_it_is_said(desk: Caller, screen: Screen, house: House) -> None:
    ask = house.ask("Please complete the release", kind="form", form=FORM)
    picture(screen, desk, "form")
    screen.key("Tab")
    screen.type("Willow")
    screen.key("Tab")
    screen.type("many")
    screen.key("Tab", "Tab", "space", "Tab", "space")  # Medium, and in a hurry
    screen.key(*["shift+Tab"] * 3, "Return")
    screen.gone(TITLE)
    window = picture(screen, desk, "form-again")
    assert house.open(ask) and window
    screen.key("Tab", "Tab", "ctrl+a")
    screen.type("3")
    screen.key("Return")

    assert house.end_of(ask)["answer"]["fields"] == {"name": "Willow", "count": 3, "size": "m", "rush": True}


@pytest.mark.requirement("ask:desk-takes-secrets")
def test_a_secret_is_taken_here_and_kept_nowhere(desk: Caller, screen: Screen, house: House) -> None:
    ask = house.ask("The password of the printer?", secret=True)
    screen.window(TITLE)
    screen.type("hunter2 Canary")
    picture(screen, desk, "secret")
    assert house.answer(ask, text="elsewhere") == 403
    screen.key("Return")

    assert house.end_of(ask)["answer"]["text"] == "hunter2 Canary"
    assert not [file for file in desk.home.rglob("*") if file.is_file() and b"Canary" in file.read_bytes()]


@pytest.mark.requirement("ask:desk-closing-is-no-answer")
def test_rather_not_declines(desk: Caller, screen: Screen, house: House) -> None:
    ask = house.ask("Your age?")
    screen.window(TITLE)
    screen.key("Tab", "Tab", "Tab", "space")

    assert house.end_of(ask)["status"] == "declined"


@pytest.mark.requirement("ask:desk-closing-is-no-answer")
@pytest.mark.parametrize("way", ["escape", "close"])
def test_closing_the_window_answers_nothing_until_the_question_changes(
    desk: Caller, screen: Screen, house: House, way: str
) -> None:
    ask = house.ask("Well?")
    window = screen.window(TITLE)
    screen.type("half a thou")
    screen.key("Escape") if way == "escape" else screen.run("xdotool", "windowclose", window)
    screen.gone(TITLE)
    assert house.open(ask)

    house.call(f"/v1/asks/{ask}/revise", {"question": "Well, then?"}, house.living.token("health"))
    screen.window(TITLE)
    if way == "escape":
        screen.key("shift+Tab", "shift+Tab", "space")  # the draft
        screen.type("ght")
        screen.key("Return")
        assert house.end_of(ask)["answer"]["text"] == "half a thought"


@pytest.mark.requirement("ask:desk-closes-when-answered-elsewhere")
def test_what_is_answered_elsewhere_leaves_the_screen_at_once(desk: Caller, screen: Screen, house: House) -> None:
    ask = house.ask("Ship it?", kind="choice", options=["yes", "no"])
    screen.window(TITLE)
    assert house.answer(ask, value="no") == 200
    screen.gone(TITLE)

    assert house.read(ask)["answered_by"]["channel"] == "api"


@pytest.mark.requirement("ask:desk-closes-when-answered-elsewhere")
def test_of_two_desks_one_answers_and_the_other_closes(
    desk: Caller, screen: Screen, house: House, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other_screen = Screen(tmp_path_factory.mktemp("other"))
    other = watcher(other_screen, house, tmp_path_factory)
    try:
        ask = house.ask("Ship it?")
        screen.window(TITLE)
        other_screen.window(TITLE)
        other_screen.type("no")
        screen.type("yes")
        screen.key("Return")
        assert house.end_of(ask)["answer"]["text"] == "yes"
        other_screen.gone(TITLE)
    finally:
        other.stop()
        other_screen.stop()


def test_a_key_meant_for_another_window_does_not_answer_a_question_that_has_only_just_come_up(
    desk: Caller, house: House, tmp_path_factory: pytest.TempPathFactory
) -> None:
    screen = Screen(tmp_path_factory.mktemp("hasty"))
    hasty = watcher(screen, house, tmp_path_factory, settle_seconds=600)
    try:
        ask = house.ask("Ship it?")
        screen.window(TITLE)
        screen.type("no")
        screen.key("Return")
        screen.type("!")
        until(lambda: hasty.drafts() == ["no!"], "what was typed after the key")
        assert house.open(ask) and screen.windows(TITLE)
    finally:
        hasty.stop()
        screen.stop()


@pytest.mark.requirement("ask:desk-replaced-loses-nothing")
def test_a_call_of_notify_takes_the_screen_and_the_question_comes_back(
    desk: Caller, screen: Screen, house: House
) -> None:
    ask = house.ask("Which name?")
    screen.window(TITLE)
    screen.type("Will")
    until(lambda: any("Will" in one.read_text() for one in desk.home.rglob("*.json")), "the words to be kept")
    call = desk.call("First this?", title="Call")
    screen.window("Call")
    assert house.open(ask)
    second = house.ask("And another?")  # does not take the call's place
    screen.type("done")
    screen.key("Return")
    assert text_of(call) == "User response: done"

    screen.window(TITLE)
    screen.key("shift+Tab", "shift+Tab", "space")
    screen.type("ow")
    screen.key("Return")
    assert house.end_of(ask)["answer"]["text"] == "Willow"
    until(lambda: screen.windows(TITLE), "the other question")
    assert house.open(second)
