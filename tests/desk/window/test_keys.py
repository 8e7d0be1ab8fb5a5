"""Keyboard, mouse and clipboard in both front ends, through a real MCP client over stdio."""

from __future__ import annotations

import os
import signal

import pytest
from tests.desk.caller import Caller, text_of
from tests.desk.conftest import ARTEFACTS
from tests.desk.screen import Screen, until

SCRIPTS = "שלום עולם مرحبا بالعالم 你好 😀 👩‍👩‍👧‍👦 é"


@pytest.mark.requirement("popup:submitted")
@pytest.mark.requirement("popup:focus")
@pytest.mark.requirement("popup:title")
def test_enter_submits_every_line_that_was_typed_and_shift_enter_only_breaks_lines(
    desk: Caller, screen: Screen
) -> None:
    call = desk.call("What would you like?")
    screen.window("VoiceMode")
    screen.type("  Hello, first")
    screen.key("shift+Return", "shift+Return")
    screen.type("third ")
    screen.key("Return")
    assert text_of(call) == "User response:   Hello, first\n\nthird "


@pytest.mark.parametrize("keys", ["KP_Enter", "ctrl+Return"])
def test_other_enter_keys_submit_too(desk: Caller, screen: Screen, keys: str) -> None:
    call = desk.call("Well?", title="Enter keys")
    screen.window("Enter keys")
    screen.type("yes")
    screen.key(keys)
    assert text_of(call) == "User response: yes"


@pytest.mark.requirement("popup:empty")
@pytest.mark.parametrize("typed", ["", "  "], ids=["nothing", "blanks"])
def test_an_empty_reply_is_told_apart(desk: Caller, screen: Screen, typed: str) -> None:
    call = desk.call("Well?", title="Empty")
    screen.window("Empty")
    screen.type(typed)
    screen.key("Return")
    assert text_of(call) == "User submitted empty response"


@pytest.mark.requirement("popup:cancelled-escape")
def test_escape_cancels(desk: Caller, screen: Screen) -> None:
    call = desk.call("Well?")
    screen.window("VoiceMode")
    screen.key("Escape")
    assert text_of(call) == "User cancelled the popup"
    screen.gone("VoiceMode")


@pytest.mark.requirement("popup:dismissed")
def test_the_close_button_dismisses(desk: Caller, screen: Screen) -> None:
    call = desk.call("Well?")
    screen.window("VoiceMode")
    screen.key("alt+F4")
    assert text_of(call) == "User dismissed the popup"


@pytest.mark.requirement("popup:cancelled-button")
def test_buttons_work_with_the_mouse(desk: Caller, screen: Screen) -> None:
    for from_right, expected in ((50, "User response: clicked"), (150, "User cancelled the popup")):
        call = desk.call("Well?", title="Mouse")
        window = screen.window("Mouse")
        screen.type("clicked")
        place = screen.place(window)
        screen.click(window, place["width"] - from_right, place["height"] - 30)
        assert text_of(call) == expected
        screen.gone("Mouse")


def test_tab_goes_through_everything_and_stays_out_of_the_text(desk: Caller, screen: Screen) -> None:
    history = desk.call("An earlier question", title="Before")
    screen.window("Before")
    screen.type("earlier")
    screen.key("Return")
    text_of(history)
    for tabs, expected in (
        (["Tab", "space"], "User response: ab"),
        (["Tab", "Return"], "User response: ab"),
        (["Tab", "Tab", "space"], "User cancelled the popup"),
        (["Tab"] * 5 + ["Return"], "User response: ab"),
        (["shift+Tab"] * 5 + ["Return"], "User response: ab"),
        (["shift+Tab"] * 4 + ["Return"], "User response: ab"),
        (["shift+Tab", "Tab", "Return"], "User response: ab"),
    ):
        call = desk.call("Well?", title="Tabs", show_history=True)
        screen.window("Tabs")
        screen.type("ab")
        screen.key(*tabs)
        assert text_of(call) == expected, tabs
        screen.gone("Tabs")
        if expected.endswith("popup"):
            desk.discard_drafts()


@pytest.mark.requirement("popup:select-all")
@pytest.mark.requirement("popup:paste")
def test_pasting_replaces_what_is_selected(desk: Caller, screen: Screen) -> None:
    screen.copy("pasted\ntext")
    call = desk.call("Well?", title="Paste")
    screen.window("Paste")
    screen.type("old words")
    screen.key("ctrl+a", "ctrl+v")
    screen.type("!")
    screen.key("Return")
    assert text_of(call) == "User response: pasted\ntext!"


@pytest.mark.requirement("popup:cut")
def test_cut_text_can_be_pasted_again(desk: Caller, screen: Screen) -> None:
    call = desk.call("Well?", title="Cut")
    screen.window("Cut")
    screen.type("one ")
    screen.key("ctrl+a", "ctrl+x")
    screen.type("two ")
    screen.key("ctrl+v", "Return")
    assert text_of(call) == "User response: two one "


@pytest.mark.requirement("popup:copy")
def test_copied_text_outlives_the_window(desk: Caller, screen: Screen) -> None:
    call = desk.call("Well?", title="Copy")
    screen.window("Copy")
    screen.type("keep me")
    screen.key("ctrl+a", "ctrl+c", "Escape")
    assert text_of(call) == "User cancelled the popup"
    screen.gone("Copy")
    assert screen.clipboard() == "keep me"


def test_undo_and_redo(desk: Caller, screen: Screen) -> None:
    call = desk.call("Well?", title="Undo")
    screen.window("Undo")
    screen.copy("lost and found")
    screen.key("ctrl+v", "ctrl+a", "Delete", "ctrl+z")
    screen.key("End", "ctrl+v", "ctrl+z", "ctrl+shift+z")
    screen.key("Return")
    assert text_of(call) == "User response: lost and foundlost and found"


def test_every_script_comes_back_as_it_went_in(desk: Caller, screen: Screen) -> None:
    screen.copy(SCRIPTS)
    call = desk.call(SCRIPTS, title="Scripts")
    window = screen.window("Scripts")
    screen.key("ctrl+v")
    screen.type("!")
    screen.picture(ARTEFACTS / "scripts.png", window)
    screen.key("Return")
    assert text_of(call) == f"User response: {SCRIPTS}!"


def test_a_reply_of_ten_thousand_characters_arrives_whole(desk: Caller, screen: Screen) -> None:
    reply = "".join(f"{number:>9}\n" for number in range(1000))
    screen.copy(reply)
    call = desk.call("Well?", title="Ten thousand")
    screen.window("Ten thousand")
    screen.key("ctrl+v", "Return")
    assert text_of(call) == f"User response: {reply}"


@pytest.mark.parametrize("secret", [False, True], ids=["plain", "secret"])
def test_what_is_pasted_slowly_is_in_the_reply(desk: Caller, screen: Screen, secret: bool) -> None:
    owner = screen.copy("at last")
    call = desk.call("Well?", title="Slow paste", secret=secret)
    screen.window("Slow paste")
    os.kill(owner, signal.SIGSTOP)
    try:
        screen.key("ctrl+v", "exclam", "ctrl+v", "BackSpace", "Return")
    finally:
        os.kill(owner, signal.SIGCONT)

    assert text_of(call) == "User response: at last!at las"


def test_a_longer_reply_is_not_sent_and_not_lost(desk: Caller, screen: Screen) -> None:
    screen.copy("x" * 10_001)
    call = desk.call("Well?", title="Too long")
    window = screen.window("Too long")
    screen.key("ctrl+v", "Return")
    until(lambda: desk.drafts() == ["x" * 10_001], "the draft")
    screen.picture(ARTEFACTS / "too-long.png", window)
    assert not call.done()
    screen.key("BackSpace", "Return")
    assert text_of(call) == "User response: " + "x" * 10_000


# Extras.


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
