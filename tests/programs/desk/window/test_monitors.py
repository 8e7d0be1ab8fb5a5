"""Two monitors side by side, with the popup on the one where the person is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.programs.desk.caller import Caller, text_of
from tests.programs.desk.conftest import ARTEFACTS
from tests.programs.desk.screen import Screen


@pytest.fixture(scope="module")
def two_monitors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Screen]:
    screen = Screen(tmp_path_factory.mktemp("monitors"), "1800x800")
    screen.split_in_two(800, 1000, 800)
    yield screen
    screen.stop()


@pytest.mark.requirement("popup:monitor")
@pytest.mark.requirement("popup:centred")
def test_the_popup_appears_in_the_middle_of_the_monitor_with_the_pointer(two_monitors: Screen, tmp_path: Path) -> None:
    desk = Caller(two_monitors.environ, tmp_path)
    for pointer, middle in ((100, 400), (1700, 1300)):
        two_monitors.point(pointer, 100)
        call = desk.call("Here?")
        place = two_monitors.place(two_monitors.window("VoiceMode"))
        two_monitors.picture(ARTEFACTS / f"monitors-{middle}.png")
        two_monitors.key("Escape")
        text_of(call)
        assert abs(place["x"] + place["width"] / 2 - middle) <= 5
        assert abs(place["y"] + place["height"] / 2 - 400) <= 30
        two_monitors.gone("VoiceMode")
    desk.stop()
