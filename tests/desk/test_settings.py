from __future__ import annotations

from pathlib import Path

import pytest

from postroom.desk.settings import DeskSettings, Toolkit, from_environment


def settings(**environ: str) -> DeskSettings:
    return from_environment(environ, working_directory=Path("/srv/project"), user_home=Path("/home/me"))


def test_the_defaults_need_no_environment() -> None:
    assert settings() == DeskSettings(
        home=Path("/home/me/.local/share/postroom"),
        voicemode=Path("/home/me/.voicemode"),
        project_path="/srv/project",
        history_limit=5,
        toolkit=Toolkit.AUTO,
    )


@pytest.mark.requirement("popup:history-limit")
def test_variables_win() -> None:
    found = settings(
        POSTROOM_HOME="/data", POSTROOM_DESK__HISTORY_LIMIT="9", POSTROOM_DESK__TOOLKIT="qt", VOICEMODE_BASE_DIR="/vm"
    )
    assert (found.home, found.history_limit, found.toolkit, found.voicemode) == (
        Path("/data"),
        9,
        Toolkit.QT,
        Path("/vm"),
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [("HISTORY_LIMIT", "five"), ("HISTORY_LIMIT", "-1"), ("HISTORY_LIMIT", "2.5"), ("TOOLKIT", "gtk")],
)
def test_a_wrong_value_is_refused(name: str, value: str) -> None:
    with pytest.raises(ValueError, match=r"history_limit|HISTORY_LIMIT|Toolkit"):
        settings(**{f"POSTROOM_DESK__{name}": value})
