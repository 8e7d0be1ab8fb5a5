"""`postroom desk` finds the household on its machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.desk.caller import SOURCE
from tests.desk.screen import Screen

from postroom.desk.commands import _owners_token
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.values.principal import OPERATOR, OWNER, Principal, Role
from postroom.settings import Settings


def test_the_owners_own_token_is_used_and_no_other_one(home: Path) -> None:
    settings = Settings(home=home)
    file = TokenFile(settings.tokens_file)
    assert _owners_token(settings) is None
    file.ensure([OPERATOR, Principal(Role.BUTLER, "health")])
    file.create(Principal(Role.PERSON, "anna"))
    assert _owners_token(settings) is None
    token = file.create(Principal(Role.PERSON, OWNER))
    assert _owners_token(settings) == token


def test_a_file_that_cannot_be_read_leaves_the_desk_alone(home: Path) -> None:
    settings = Settings(home=home)
    settings.tokens_file.write_text("{")

    assert _owners_token(settings) is None


# `postroom desk --check`.


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
