"""`postroom service`: the files that keep a household running."""

from __future__ import annotations

import plistlib
import shutil
import subprocess
from pathlib import Path

import pytest

from postroom.cli.up import launchd_file, systemd_file
from tests.cli.command import postroom


@pytest.fixture(autouse=True)
def person(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr("sys.platform", "linux")
    return tmp_path


def pretend(person: Path, name: str) -> Path:
    """A program that notes what it is asked; the real one would change this machine."""
    record = person / f"{name}.log"
    program = person / "bin" / name
    program.write_text(f'#!/bin/sh\necho "$@" >> {record}\n')
    program.chmod(0o755)
    return record


@pytest.mark.requirement("connect:service")
def test_it_is_installed_looked_at_and_removed(person: Path, home: Path) -> None:
    record = pretend(person, "systemctl")
    unit = person / ".config" / "systemd" / "user" / "postroom.service"

    shown = postroom("service", "install", "--dry-run")
    assert not unit.exists() and "[Service]" in shown.out and postroom("service", "status").code == 1
    installed = postroom("service", "install")
    assert installed.code == 0 and unit.read_text().rstrip("\n") == shown.out.rstrip("\n")
    assert f'"up" "--home" "{home}"' in unit.read_text()
    assert postroom("service", "status").code == 0
    removed = postroom("service", "remove")

    assert removed.code == 0 and not unit.exists()
    assert record.read_text().splitlines() == [
        "--user daemon-reload",
        "--user enable --now postroom.service",
        "--user is-active postroom.service",
        "--user disable --now postroom.service",
    ]
    assert "no service" in postroom("service", "remove").out


def test_a_machine_without_systemd_is_said(person: Path) -> None:
    done = postroom("service", "install")

    assert done.code == 0 and "This did not work here: systemctl --user daemon-reload" in done.error


@pytest.mark.requirement("connect:service")
def test_on_macos_it_is_launchd_s_file(person: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    record = pretend(person, "launchctl")
    postroom("service", "install")
    file = person / "Library" / "LaunchAgents" / "org.postroom.household.plist"

    written = plistlib.loads(file.read_bytes())
    assert written["ProgramArguments"][1:] == ["up", "--home", str(home)] and written["RunAtLoad"] is True
    assert record.read_text().startswith("bootstrap gui/")
    assert launchd_file(["a b", "<&>"], Path("/h")).count("<string>a b</string>") == 1


@pytest.mark.requirement("connect:service")
def test_systemd_accepts_the_unit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    verify = shutil.which("systemd-analyze")
    if verify is None:
        pytest.skip("systemd-analyze is not installed")
    unit = tmp_path / "postroom.service"
    unit.write_text(systemd_file(["/bin/echo", "up", "--home", str(tmp_path / "a b$c%d")]))
    done = subprocess.run([verify, "verify", unit], capture_output=True, text=True, timeout=60, check=False)

    assert "postroom.service" not in done.stderr, done.stderr


def test_signs_that_systemd_would_read_are_written_out() -> None:
    assert 'ExecStart="/a b" "50%%" "$$x" "q\\"" "b\\\\"' in systemd_file(["/a b", "50%", "$x", 'q"', "b\\"])
