from __future__ import annotations

import pytest
from tests.programs.desk.outside import Outside

from postroom.programs.desk.settings import Toolkit
from postroom.programs.desk.toolkit import choose

READING = Outside(programs={"org.a11y.Status ScreenReaderEnabled": "(<true>,)"})
SILENT = Outside(programs={"org.a11y.Status ScreenReaderEnabled": "(<false>,)"})


@pytest.mark.parametrize(
    ("wanted", "system", "qt", "chosen"),
    [
        (Toolkit.AUTO, READING, True, Toolkit.QT),
        (Toolkit.AUTO, READING, False, Toolkit.TK),
        (Toolkit.AUTO, SILENT, True, Toolkit.TK),
        (Toolkit.AUTO, Outside(), True, Toolkit.TK),
        (Toolkit.QT, SILENT, True, Toolkit.QT),
        (Toolkit.TK, READING, True, Toolkit.TK),
        (Toolkit.AUTO, Outside(platform="darwin", programs={"voiceOverOnOffKey": "1"}), True, Toolkit.QT),
        (Toolkit.AUTO, Outside(platform="win32"), True, Toolkit.TK),
    ],
)
@pytest.mark.requirement("popup:screen-reader")
def test_qt_is_for_screen_readers_and_for_those_who_ask(
    wanted: Toolkit, system: Outside, qt: bool, chosen: Toolkit
) -> None:
    assert choose(wanted, system, qt_installed=lambda: qt) is chosen


def test_without_qt_nobody_is_asked() -> None:
    system = Outside()
    choose(Toolkit.AUTO, system, qt_installed=lambda: False)
    assert not system.asked
