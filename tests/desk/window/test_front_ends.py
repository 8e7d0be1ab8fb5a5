"""Both front ends, with a real keyboard and mouse, through a real MCP client over stdio."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from postroom.desk.palette import PALETTES
from tests.desk.caller import Caller, text_of
from tests.desk.conftest import ARTEFACTS
from tests.desk.picture import difference, pixel
from tests.desk.screen import Screen, until

LONG = "\n".join(f"Line {number} of a message that does not fit." for number in range(1, 201))
SCROLLED = 0.005
"""The share of a picture that changes when text scrolls; a caret is a tenth of that."""
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
            discard_drafts(desk)


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
    screen.picture(ARTEFACTS / f"scripts-{desk.toolkit}.png", window)
    screen.key("Return")
    assert text_of(call) == f"User response: {SCRIPTS}!"


def test_a_reply_of_ten_thousand_characters_arrives_whole(desk: Caller, screen: Screen) -> None:
    reply = "".join(f"{number:>9}\n" for number in range(1000))
    screen.copy(reply)
    call = desk.call("Well?", title="Ten thousand")
    screen.window("Ten thousand")
    screen.key("ctrl+v", "Return")
    assert text_of(call) == f"User response: {reply}"


def test_a_longer_reply_is_not_sent_and_not_lost(desk: Caller, screen: Screen) -> None:
    screen.copy("x" * 10_001)
    call = desk.call("Well?", title="Too long")
    window = screen.window("Too long")
    screen.key("ctrl+v", "Return")
    until(lambda: draft_texts(desk) == ["x" * 10_001], "the draft")
    screen.picture(ARTEFACTS / f"too-long-{desk.toolkit}.png", window)
    assert not call.done()
    screen.key("BackSpace", "Return")
    assert text_of(call) == "User response: " + "x" * 10_000


@pytest.mark.requirement("popup:long-message")
@pytest.mark.requirement("popup:whole-message")
def test_a_long_message_is_scrolled_with_the_keyboard_and_is_all_there(desk: Caller, screen: Screen) -> None:
    call = desk.call(LONG, title="Long")
    window = screen.window("Long")
    assert screen.place(window)["height"] < 800
    screen.key("shift+Tab")
    top = screen.picture(ARTEFACTS / f"long-top-{desk.toolkit}.png", window)
    screen.key("End")
    bottom = ARTEFACTS / f"long-bottom-{desk.toolkit}.png"
    until(lambda: difference(top, screen.picture(bottom, window)) > SCROLLED, "the message to scroll")
    screen.key("ctrl+a", "ctrl+c")
    assert screen.clipboard() == LONG
    screen.type("no effect")
    screen.key("ctrl+a", "ctrl+c")
    assert screen.clipboard() == LONG
    screen.key("Escape")
    assert text_of(call) == "User cancelled the popup"


@pytest.mark.requirement("popup:history-area")
@pytest.mark.requirement("popup:history-end")
@pytest.mark.requirement("popup:history-scroll")
def test_history_starts_at_its_end_and_can_be_scrolled_back(desk: Caller, screen: Screen) -> None:
    for number in range(1, 5):
        call = desk.call(f"Question {number}, asked at some length.", title="Asking")
        screen.window("Asking")
        screen.type(f"answer {number}")
        screen.key("Return")
        text_of(call)
        screen.gone("Asking")
    call = desk.call("And now?", title="History")
    window = screen.window("History")
    screen.key("Tab", "Tab", "Tab")
    folder = ARTEFACTS / f"history-{desk.toolkit}"
    at_first = screen.picture(folder / "at-first.png", window)
    screen.key("Home")
    top, end = folder / "top.png", folder / "end.png"
    until(lambda: difference(at_first, screen.picture(top, window)) > SCROLLED, "the history to scroll up")
    screen.key("End")
    until(lambda: difference(at_first, screen.picture(end, window)) < SCROLLED / 10, "the history to scroll back")
    screen.key("ctrl+a", "ctrl+c")
    shown = screen.clipboard()
    assert "Assistant\nQuestion 1, asked at some length.\nYou\nanswer 1\n" in shown
    assert shown.endswith("answer 4")
    screen.key("Escape")
    text_of(call)


@pytest.mark.requirement("popup:history-area")
def test_history_can_be_switched_off(desk: Caller, screen: Screen) -> None:
    call = desk.call("First", title="Off")
    screen.window("Off")
    screen.type("reply")
    screen.key("Return")
    text_of(call)
    heights = []
    for show in (True, False):
        call = desk.call("Second", title="Off", show_history=show)
        heights.append(screen.place(screen.window("Off"))["height"])
        screen.key("Escape")
        text_of(call)
        screen.gone("Off")
    assert heights[0] > heights[1] + 40


@pytest.mark.requirement("popup:on-top")
@pytest.mark.requirement("popup:centred")
def test_it_is_in_the_middle_and_above_everything(desk: Caller, screen: Screen) -> None:
    call = desk.call("Here?", title="Middle")
    window = screen.window("Middle")
    assert "_NET_WM_STATE_ABOVE" in screen.states(window)
    place = screen.place(window)
    assert abs(place["x"] + place["width"] / 2 - 640) < 20
    assert abs(place["y"] + place["height"] / 2 - 400) < 40
    screen.key("Escape")
    text_of(call)


@pytest.mark.requirement("popup:theme-argument")
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_theme_is_the_callers(desk: Caller, screen: Screen, theme: str) -> None:
    before = desk.call("Shall I tidy up the old branches as well?", title="Before")
    screen.window("Before")
    screen.type("Yes, but keep release-1.x")
    screen.key("Return")
    text_of(before)
    message = "Three branches are merged and untouched since spring:\n\n  feature/login\n  fix/typo\n  spike/cache"
    call = desk.call(message + "\n\nDelete them?", title="Themed", theme=theme, project="website", timeout=90)
    window = screen.window("Themed")
    screen.type("All but the spike")
    file = screen.picture(ARTEFACTS / f"{theme}-{desk.toolkit}.png", window)
    assert pixel(file, 3, 3) == PALETTES[theme].background
    screen.key("Return")
    text_of(call)


@pytest.mark.requirement("popup:theme-linux")
def test_the_theme_follows_the_desktop(desk: Caller, screen: Screen) -> None:
    for scheme, theme in (("prefer-dark", "dark"), ("prefer-light", "light")):
        screen.run("gsettings", "set", "org.gnome.desktop.interface", "color-scheme", scheme, check=True)
        call = desk.call("Well?", title=scheme)
        window = screen.window(scheme)
        file = screen.picture(ARTEFACTS / f"{scheme}-{desk.toolkit}.png", window)
        screen.key("Escape")
        text_of(call)
        assert pixel(file, 3, 3) == PALETTES[theme].background


def test_one_option_is_an_answer(desk: Caller, screen: Screen) -> None:
    call = desk.call("Deploy?", title="Options", options=["Yes", "No", "Ask me tomorrow"])
    window = screen.window("Options")
    screen.type("but slowly")
    screen.picture(ARTEFACTS / f"options-{desk.toolkit}.png", window)
    screen.key("shift+Tab", "shift+Tab", "space")
    assert text_of(call) == "User response: No\nbut slowly"
    assert call.result().structured_content == {"options": ["No"], "text": "but slowly"}


def test_several_options_are_chosen_before_submitting(desk: Caller, screen: Screen) -> None:
    call = desk.call("Which?", title="Several", options=["red", "green", "blue"], allow_multiple=True)
    window = screen.window("Several")
    screen.key("shift+Tab", "space", "shift+Tab", "space", "space", "shift+Tab", "space")
    screen.picture(ARTEFACTS / f"several-{desk.toolkit}.png", window)
    screen.key("Tab", "Tab", "Tab", "Return")
    assert text_of(call) == "User response: red\nblue"


def test_a_secret_is_hidden_and_kept_nowhere(desk: Caller, screen: Screen) -> None:
    call = desk.call("Your key?", title="Secret", secret=True)
    window = screen.window("Secret")
    screen.type("hunter2")
    screen.picture(ARTEFACTS / f"secret-{desk.toolkit}.png", window)
    assert not draft_texts(desk)
    screen.key("Return")
    assert text_of(call) == "User response: hunter2"
    kept = [file.read_text() for folder in (desk.home, desk.voicemode) for file in folder.rglob("*") if file.is_file()]
    assert any("Your key?" in text for text in kept)
    assert not any("hunter2" in text for text in kept)


def test_a_draft_is_offered_again_and_is_gone_once_it_was_sent(desk: Caller, screen: Screen) -> None:
    call = desk.call("First?", title="Draft")
    screen.window("Draft")
    screen.type("half a thou")
    screen.key("Escape")
    assert text_of(call) == "User cancelled the popup"
    screen.gone("Draft")
    assert draft_texts(desk) == ["half a thou"]
    call = desk.call("Second?", title="Draft")
    window = screen.window("Draft")
    screen.picture(ARTEFACTS / f"draft-{desk.toolkit}.png", window)
    screen.key("shift+Tab", "shift+Tab", "space")
    screen.type("ght")
    screen.key("Return")
    assert text_of(call) == "User response: half a thought"
    assert not draft_texts(desk)


def test_a_new_draft_never_overwrites_an_older_one(desk: Caller, screen: Screen) -> None:
    for words in ("first", "second"):
        call = desk.call("Well?", title="Drafts")
        screen.window("Drafts")
        screen.type(words)
        screen.key("Escape")
        text_of(call)
        screen.gone("Drafts")
    assert sorted(draft_texts(desk)) == ["first", "second"]


def test_an_unwanted_draft_can_be_thrown_away(desk: Caller, screen: Screen) -> None:
    call = desk.call("Well?", title="Discard")
    screen.window("Discard")
    screen.type("never mind")
    screen.key("Escape")
    text_of(call)
    screen.gone("Discard")
    call = desk.call("Well?", title="Discard")
    screen.window("Discard")
    screen.key("shift+Tab", "space")
    until(lambda: not draft_texts(desk), "the draft to be gone")
    screen.type("ok")
    screen.key("Return")
    assert text_of(call) == "User response: ok"


@pytest.mark.requirement("popup:replaced")
@pytest.mark.requirement("popup:newest-shown")
@pytest.mark.requirement("popup:one-at-a-time")
def test_a_newer_call_takes_the_place_of_the_popup(desk: Caller, screen: Screen) -> None:
    first = desk.call("First?", title="Old")
    screen.window("Old")
    screen.type("unfinished")
    second = desk.call("Second?", title="New")
    assert text_of(first) == "User cancelled or dismissed the popup"
    screen.window("New")
    assert not screen.windows("Old")
    screen.key("shift+Tab", "shift+Tab", "space", "Return")
    assert text_of(second) == "User response: unfinished"


def test_of_many_calls_at_once_only_the_newest_is_shown(desk: Caller, screen: Screen) -> None:
    calls = [desk.call(f"Number {number}", title=f"Number {number}") for number in range(4)]
    screen.window("Number 3")
    assert [text_of(call) for call in calls[:3]] == ["User cancelled or dismissed the popup"] * 3
    screen.type("last")
    screen.key("Return")
    assert text_of(calls[3]) == "User response: last"


@pytest.mark.requirement("popup:displayed")
def test_a_plain_message_returns_at_once_and_leaves_by_itself(desk: Caller, screen: Screen) -> None:
    screen.point(0, 0)
    call = desk.call("Done!", title="Plain", wait_for_response=False)
    assert text_of(call) == "✓ Message displayed successfully"
    [window] = until(lambda: screen.windows("Plain"), "the message")
    screen.picture(ARTEFACTS / f"plain-{desk.toolkit}.png", window)
    screen.gone("Plain")


def test_a_plain_message_stays_while_the_mouse_is_over_it(desk: Caller, screen: Screen) -> None:
    screen.point(0, 0)
    text_of(desk.call("Read me", title="Hover", wait_for_response=False))
    [window] = until(lambda: screen.windows("Hover"), "the message")
    started = time.monotonic()
    while time.monotonic() - started < 2.2:
        screen.click(window, 5, 5)
        screen.click(window, 6, 6)
    assert screen.windows("Hover")
    screen.key("Escape")
    screen.gone("Hover")


def test_a_crash_is_called_a_crash_and_costs_no_word(desk: Caller, screen: Screen) -> None:
    call = desk.call("Well?", title="Crash")
    screen.window("Crash")
    screen.type("precious")
    until(lambda: draft_texts(desk) == ["precious"], "the draft")
    os.kill(screen.window_process(), signal.SIGKILL)
    assert text_of(call).startswith("Error: The popup window failed")
    assert call.result().is_error
    again = desk.call("Well?", title="Again")
    screen.window("Again")
    screen.key("shift+Tab", "shift+Tab", "space", "Return")
    assert text_of(again) == "User response: precious"


def test_cancelling_the_call_closes_the_window_and_leaves_the_server_alive(desk: Caller, screen: Screen) -> None:
    call = desk.call("Well?", title="Abandoned")
    screen.window("Abandoned")
    screen.type("late")
    until(lambda: draft_texts(desk) == ["late"], "the draft")
    call.cancel()
    screen.gone("Abandoned")
    assert draft_texts(desk) == ["late"]
    again = desk.call("Still there?", title="Alive")
    screen.window("Alive")
    screen.type("yes")
    screen.key("Return")
    assert text_of(again) == "User response: yes"


def draft_files(desk: Caller) -> list[Path]:
    return sorted((desk.home / "desk" / "drafts").rglob("*.json"))


def draft_texts(desk: Caller) -> list[str]:
    import json

    return [str(json.loads(file.read_text())["text"]) for file in draft_files(desk)]


def discard_drafts(desk: Caller) -> None:
    for file in draft_files(desk):
        file.unlink()
