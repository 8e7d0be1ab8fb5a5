"""Whether a popup could be shown is tried, without showing one."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.desk.screen import Screen

from postroom.cli.doctor.doctor import look_at_display


@pytest.mark.parametrize("display", ["", ":4711"])
async def test_without_a_display_the_advice_says_who_needs_one(display: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISPLAY", display)

    found = await look_at_display()

    assert found.ok
    assert "no popups" in found.detail and "postroom desk" in found.advice


async def test_a_display_that_answers_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen(tmp_path, window_manager=False)
    try:
        monkeypatch.setenv("DISPLAY", screen.display)
        found = await look_at_display()
    finally:
        screen.stop()

    assert (found.ok, found.detail, found.advice) == (True, "popups can be shown", "")
