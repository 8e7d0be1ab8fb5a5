"""Popups one after the other: replacement, drafts, plain messages, crashes, cancelled calls."""

from __future__ import annotations

import json
import os
import signal
import time
from datetime import datetime
from pathlib import Path

import pytest
from tests.desk.caller import Caller, text_of
from tests.desk.conftest import ARTEFACTS
from tests.desk.screen import Screen, until

from postroom.desk.look import END_HERTZ, START_HERTZ, tones


def test_a_draft_is_offered_again_and_is_gone_once_it_was_sent(desk: Caller, screen: Screen) -> None:
    call = desk.call("First?", title="Draft")
    screen.window("Draft")
    screen.type("half a thou")
    screen.key("Escape")
    assert text_of(call) == "User cancelled the popup"
    screen.gone("Draft")
    assert desk.drafts() == ["half a thou"]
    call = desk.call("Second?", title="Draft")
    window = screen.window("Draft")
    screen.picture(ARTEFACTS / "draft.png", window)
    screen.key("shift+Tab", "shift+Tab", "space")
    screen.type("ght")
    screen.key("Return")
    assert text_of(call) == "User response: half a thought"
    assert not desk.drafts()


def test_a_new_draft_never_overwrites_an_older_one(desk: Caller, screen: Screen) -> None:
    for words in ("first", "second"):
        call = desk.call("Well?", title="Drafts")
        screen.window("Drafts")
        screen.type(words)
        screen.key("Escape")
        text_of(call)
        screen.gone("Drafts")
    assert sorted(desk.drafts()) == ["first", "second"]


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
    until(lambda: not desk.drafts(), "the draft to be gone")
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
    screen.picture(ARTEFACTS / "plain.png", window)
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
    until(lambda: desk.drafts() == ["precious"], "the draft")
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
    until(lambda: desk.drafts() == ["late"], "the draft")
    call.cancel()
    screen.gone("Abandoned")
    assert desk.drafts() == ["late"]
    again = desk.call("Still there?", title="Alive")
    screen.window("Alive")
    screen.type("yes")
    screen.key("Return")
    assert text_of(again) == "User response: yes"


@pytest.mark.requirement("popup:converse-shared")
@pytest.mark.requirement("popup:switch-history")
@pytest.mark.requirement("popup:switch-next")
@pytest.mark.requirement("popup:switch-session")
def test_a_spoken_conversation_goes_on_in_the_popup(desk: Caller, screen: Screen) -> None:
    now = datetime.now().astimezone()
    spoken = [
        {
            "version": 3,
            "timestamp": now.isoformat(),
            "conversation_id": "conv_20261115_063847_rt9mxu",
            "type": kind,
            "text": text,
            "project_path": str(desk.project),
            "metadata": {"voice_mode_version": "8.12.0", "transport": "local"},
        }
        for kind, text in (("tts", "Spoken question"), ("stt", "Spoken answer"))
    ]
    file = desk.voicemode / "logs" / "conversations" / f"exchanges_{now:%Y-%m-%d}.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text("".join(json.dumps(line) + "\n" for line in spoken))
    call = desk.call("Typed question", title="Switch")
    screen.window("Switch")
    screen.key("Tab", "Tab", "Tab", "ctrl+a", "ctrl+c")
    until(lambda: "Spoken" in screen.clipboard(), "the history on the clipboard")
    assert screen.clipboard() == "Assistant\nSpoken question\nYou\nSpoken answer"
    screen.key("Tab", "Tab")
    screen.type("Typed answer")
    screen.key("Return")
    assert text_of(call) == "User response: Typed answer"
    lines = desk.log()
    assert lines[:2] == spoken
    assert [(line["type"], line["text"]) for line in lines[2:]] == [
        ("tts", "Typed question"),
        ("stt", "Typed answer"),
    ]
    assert {line["conversation_id"] for line in lines} == {"conv_20261115_063847_rt9mxu"}


def test_only_what_was_submitted_is_logged_as_said(desk: Caller, screen: Screen) -> None:
    for key in ("Escape", "Return", "alt+F4"):
        call = desk.call("Well?", title="Unsaid")
        screen.window("Unsaid")
        screen.key(key)
        text_of(call)
        screen.gone("Unsaid")
    assert [line["type"] for line in desk.log()] == ["tts", "tts", "tts"]


@pytest.mark.requirement("popup:chime-default")
@pytest.mark.requirement("popup:chime-moments")
def test_chimes_sound_when_the_popup_appears_and_when_it_is_answered(screen: Screen, tmp_path: Path) -> None:
    sounds = tmp_path / "sounds"
    sounds.mkdir()
    program = tmp_path / "pw-play"
    program.write_text(f'#!/bin/sh\ncp "$1" "{sounds}/$$.part" && mv "{sounds}/$$.part" "{sounds}/$$.wav"\n')
    program.chmod(0o755)
    environ = {**screen.environ, "PATH": f"{tmp_path}:{screen.environ['PATH']}"}
    desk = Caller(environ, tmp_path)

    def played() -> list[bytes]:
        return [file.read_bytes() for file in sounds.glob("*.wav")]

    def ask(key: str, **arguments: bool) -> None:
        call = desk.call("Well?", title="Chime", **arguments)
        screen.window("Chime")
        screen.type("x")
        screen.key(key)
        text_of(call)
        screen.gone("Chime")

    ask("Return")
    assert not played()
    ask("Escape", chime_enabled=True)
    until(lambda: played() == [tones(START_HERTZ)], "the start chime alone")
    ask("Return", chime_enabled=True)
    until(lambda: len(played()) == 3, "both chimes")
    assert sorted(played()) == sorted([tones(START_HERTZ), tones(START_HERTZ), tones(END_HERTZ)])
    desk.stop()


@pytest.mark.requirement("popup:history-limit")
def test_the_history_is_as_long_as_configured_and_what_nobody_answered_counts(screen: Screen, tmp_path: Path) -> None:
    desk = Caller(screen.environ, tmp_path, history_limit=2)
    for number, key in enumerate(("Return", "Return", "Escape")):
        call = desk.call(f"Question {number}", title="Limit")
        screen.window("Limit")
        screen.type(f"answer {number}")
        screen.key(key)
        text_of(call)
        screen.gone("Limit")
    call = desk.call("And?", title="Limit")
    screen.window("Limit")
    screen.key("Tab", "Tab", "Tab", "ctrl+a", "ctrl+c")
    until(lambda: "Question" in screen.clipboard(), "the history on the clipboard")
    assert screen.clipboard() == "Assistant\nQuestion 1\nYou\nanswer 1\nAssistant\nQuestion 2"
    screen.key("Escape")
    text_of(call)
    desk.stop()
