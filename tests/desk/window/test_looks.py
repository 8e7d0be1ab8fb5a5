"""What is to be seen in both front ends: messages, history, themes, place."""

from __future__ import annotations

import pytest
from tests.desk.caller import Caller, text_of
from tests.desk.conftest import ARTEFACTS
from tests.desk.screen import Screen, difference, pixel, until

from postroom.desk.look import PALETTES

LONG = "\n".join(f"Line {number} of a message that does not fit." for number in range(1, 201))
SCROLLED = 0.005
"""The share of a picture that changes when text scrolls; a caret is a tenth of that."""


@pytest.mark.requirement("popup:long-message")
@pytest.mark.requirement("popup:whole-message")
def test_a_long_message_is_scrolled_with_the_keyboard_and_is_all_there(desk: Caller, screen: Screen) -> None:
    call = desk.call(LONG, title="Long")
    window = screen.window("Long")
    assert screen.place(window)["height"] < 800
    screen.key("shift+Tab")
    top = screen.picture(ARTEFACTS / "long-top.png", window)
    screen.key("End")
    bottom = ARTEFACTS / "long-bottom.png"
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
    reply = screen.ring(window) or 0
    screen.key("Tab", "Tab", "Tab")
    until(lambda: (screen.ring(window) or reply) < reply, "the history to have the keyboard")
    folder = ARTEFACTS / "history"
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
    file = screen.picture(ARTEFACTS / f"{theme}.png", window)
    assert pixel(file, 3, 3) == PALETTES[theme].background
    screen.key("Return")
    text_of(call)


@pytest.mark.requirement("popup:theme-linux")
def test_the_theme_follows_the_desktop(desk: Caller, screen: Screen) -> None:
    for scheme, theme in (("prefer-dark", "dark"), ("prefer-light", "light")):
        screen.run("gsettings", "set", "org.gnome.desktop.interface", "color-scheme", scheme, check=True)
        call = desk.call("Well?", title=scheme)
        window = screen.window(scheme)
        file = screen.picture(ARTEFACTS / f"{scheme}.png", window)
        screen.key("Escape")
        text_of(call)
        assert pixel(file, 3, 3) == PALETTES[theme].background
