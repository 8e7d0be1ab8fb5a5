"""What the desk may be told from outside."""

from __future__ import annotations

from pathlib import Path

import pytest

from postroom.domain.settings_error import SettingsError
from postroom.programs.desk.settings import PopupSettings, from_settings
from postroom.system.settings.load import load


def settings(**environ: str) -> PopupSettings:
    household, _ = load({"HOME": "/users/me", **environ})
    return from_settings(household, environ, working_directory=Path("/srv/project"), user_home=Path("/users/me"))


def test_nothing_needs_to_be_set() -> None:
    assert settings() == PopupSettings(
        home=Path("/users/me/.local/share/postroom"),
        voicemode=Path("/users/me/.voicemode"),
        project_path="/srv/project",
    )


def test_the_household_decides_and_voicemode_says_where_its_log_is() -> None:
    chosen = settings(POSTROOM_HOME="/data", POSTROOM_DESK__HISTORY_LIMIT="9", VOICEMODE_BASE_DIR="/vm")

    assert (chosen.home, chosen.voicemode) == (Path("/data"), Path("/vm"))
    assert chosen.history_limit == 9


@pytest.mark.parametrize(
    ("name", "value"),
    [("HISTORY_LIMIT", "many"), ("HISTORY_LIMIT", "-1"), ("SHOW_SECONDS", "0")],
)
def test_a_wrong_value_names_its_variable(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"POSTROOM_DESK__{name}"):
        settings(**{f"POSTROOM_DESK__{name}": value})
