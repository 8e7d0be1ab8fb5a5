"""Options and secrets in both front ends."""

from __future__ import annotations

from tests.programs.desk.caller import Caller, text_of
from tests.programs.desk.conftest import ARTEFACTS
from tests.programs.desk.screen import Screen


def test_one_option_is_an_answer(desk: Caller, screen: Screen) -> None:
    call = desk.call("Deploy?", title="Options", options=["Yes", "No", "Ask me tomorrow"])
    window = screen.window("Options")
    screen.type("but slowly")
    screen.picture(ARTEFACTS / "options.png", window)
    screen.key("shift+Tab", "shift+Tab", "space")
    assert text_of(call) == "User response: No\nbut slowly"
    assert call.result().structured_content == {"options": ["No"], "text": "but slowly"}


def test_several_options_are_chosen_before_submitting(desk: Caller, screen: Screen) -> None:
    call = desk.call("Which?", title="Several", options=["red", "green", "blue"], allow_multiple=True)
    window = screen.window("Several")
    screen.key("shift+Tab", "space", "shift+Tab", "space", "space", "shift+Tab", "space")
    screen.picture(ARTEFACTS / "several.png", window)
    screen.key("Tab", "Tab", "Tab", "Return")
    assert text_of(call) == "User response: red\nblue"


def test_a_secret_is_hidden_and_kept_nowhere(desk: Caller, screen: Screen) -> None:
    call = desk.call("Your key?", title="Secret", secret=True)
    window = screen.window("Secret")
    screen.type("hunter2")
    screen.picture(ARTEFACTS / "secret.png", window)
    assert not desk.drafts()
    screen.key("Return")
    assert text_of(call) == "User response: hunter2"
    kept = [file.read_text() for folder in (desk.home, desk.voicemode) for file in folder.rglob("*") if file.is_file()]
    assert any("Your key?" in text for text in kept)
    assert not any("hunter2" in text for text in kept)
