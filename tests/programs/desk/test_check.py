from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.programs.desk.caller import SOURCE
from tests.programs.desk.screen import Screen


def check(environ: dict[str, str], home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    own = {"PYTHONPATH": str(SOURCE), "POSTROOM_HOME": str(home), "VOICEMODE_BASE_DIR": str(home / "voicemode")}
    command = [sys.executable, "-m", "postroom.desk", "--check", *arguments]
    return subprocess.run(command, env={**environ, **own}, capture_output=True, text=True, timeout=30)


def test_it_shows_a_popup_and_keeps_nothing(screen: Screen, tmp_path: Path) -> None:
    done = check(screen.environ, tmp_path / "home")
    assert done.returncode == 0, done.stderr
    assert "popup          shown after" in done.stdout
    assert not (tmp_path / "home").exists()


def test_it_says_when_no_popup_can_be_shown(tmp_path: Path) -> None:
    environ = {name: value for name, value in os.environ.items() if name != "DISPLAY"}
    done = check(environ, tmp_path)
    assert done.returncode == 1
    assert "no display available" in done.stdout
