from __future__ import annotations

from pathlib import Path

import pytest

from postroom.programs.desk.voicemode import voicemode_directory


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home" / "project" / "deep").mkdir(parents=True)
    return tmp_path / "home"


def found(home: Path, **environ: str) -> Path:
    return voicemode_directory(environ, working_directory=home / "project" / "deep", user_home=home)


def test_without_any_setting_it_is_in_the_home_folder(home: Path) -> None:
    assert found(home) == home / ".voicemode"


def test_the_environment_wins_over_files(home: Path) -> None:
    (home / "project" / ".voicemode.env").write_text("VOICEMODE_BASE_DIR=/from/file\n")
    assert found(home, VOICEMODE_BASE_DIR="$ROOT/vm", ROOT="/env") == Path("/env/vm")


@pytest.mark.parametrize("name", [".voicemode.env", ".voicemode/voicemode.env"])
def test_the_nearest_project_file_wins_over_the_persons(home: Path, name: str) -> None:
    for folder, value in ((home / "project", "~/near"), (home, "/far")):
        file = folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(f'# comment\nexport VOICEMODE_BASE_DIR="{value}"\n')
    assert found(home) == home / "near"
