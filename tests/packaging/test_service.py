"""The systemd unit starts a command that exists, and systemd itself finds nothing wrong with it."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT
from tests.docs.commands import type_postroom

UNIT = ROOT / "packaging" / "postroom.service"


def values(key: str) -> list[str]:
    return [line.split("=", 1)[1] for line in UNIT.read_text().splitlines() if line.startswith(f"{key}=")]


def test_it_starts_a_command_that_exists() -> None:
    program, *arguments = shlex.split(values("ExecStart")[0])

    assert Path(program).name == "postroom"
    type_postroom(arguments)


def test_its_home_is_the_directory_that_systemd_makes() -> None:
    assert f"POSTROOM_HOME=/var/lib/{values('StateDirectory')[0]}" in values("Environment")


def test_systemd_finds_nothing_wrong_with_it(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    unit = tmp_path / UNIT.name  # with a program that is there, or else its absence is all that it says
    unit.write_text(UNIT.read_text().replace(values("ExecStart")[0], "/bin/true"))

    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, timeout=60, check=False)

    assert (done.returncode, [line for line in done.stderr.splitlines() if UNIT.name in line]) == (0, [])
