from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.programs.desk.caller import SOURCE
from tests.programs.desk.conftest import ARTEFACTS, TOOLKITS
from tests.programs.desk.picture import size
from tests.programs.desk.screen import Screen


def check(environ: dict[str, str], home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    own = {"PYTHONPATH": str(SOURCE), "POSTROOM_HOME": str(home), "VOICEMODE_BASE_DIR": str(home / "voicemode")}
    command = [sys.executable, "-m", "postroom.programs.desk", "--check", *arguments]
    return subprocess.run(command, env={**environ, **own}, capture_output=True, text=True, timeout=30)


@pytest.mark.parametrize("toolkit", TOOLKITS)
def test_it_shows_what_a_popup_looks_like_and_keeps_nothing(screen: Screen, tmp_path: Path, toolkit: str) -> None:
    picture = ARTEFACTS / f"check-{toolkit}.png"
    picture.unlink(missing_ok=True)
    picture.parent.mkdir(parents=True, exist_ok=True)
    done = check({**screen.environ, "POSTROOM_DESK__TOOLKIT": toolkit}, tmp_path / "home", "--screenshot", str(picture))
    assert done.returncode == 0, done.stderr
    assert "popup          shown after" in done.stdout
    assert f"toolkit        {toolkit}" in done.stdout
    assert size(picture) == (560, pytest.approx(350, abs=60))
    assert not (tmp_path / "home").exists()


def test_it_says_when_no_popup_can_be_shown(tmp_path: Path) -> None:
    environ = {name: value for name, value in os.environ.items() if name != "DISPLAY"}
    done = check(environ, tmp_path)
    assert done.returncode == 1
    assert "no display available" in done.stdout


def test_a_screenshot_needs_the_check(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "postroom.programs.desk", "--screenshot", str(tmp_path / "x.png")]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(SOURCE)}, capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 2
    assert "--screenshot needs --check" in done.stderr
