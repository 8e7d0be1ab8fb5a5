"""`postroom service`: a household that runs whenever you are signed in, so that agents always find one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from postroom.cli.output import Home, complain, say
from postroom.domain.errors import UserError
from postroom.programs.connections import home_of, replace_file
from postroom.programs.service import LABEL, UNIT, launchd_file, systemd_file

app = typer.Typer(help="Run the household as a service of your own account.", no_args_is_help=True)
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the file and change nothing.")]


@app.command("install")
def install(home: Home = None, dry_run: DryRun = False) -> None:
    """Write the service's file (systemd, or launchd on macOS) and start it."""
    text = _text(home)
    if dry_run:
        say(text.rstrip("\n"))
        return
    path = _path()
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, text.encode(), 0o644)
    say(f"Wrote {path}.")
    for words in _starting(path):
        _run(words)


@app.command("remove")
def remove(dry_run: DryRun = False) -> None:
    """Stop it and remove the file; the household's data stays."""
    path = _path()
    if not path.exists():
        say("There is no service to remove.")
        return
    if dry_run:
        say(f"Would stop it and remove {path}.")
        return
    for words in _stopping(path):
        _run(words)
    path.unlink()
    say(f"Removed {path}.")


@app.command("status")
def status() -> None:
    """Whether it is installed and runs; exits with 1 when it does not."""
    if not _path().exists():
        say("Not installed: `postroom service install` does it.")
        raise typer.Exit(1)
    words = ["launchctl", "list", LABEL] if _is_mac() else ["systemctl", "--user", "is-active", UNIT]
    runs = shutil.which(words[0]) is not None and _ended(words) == 0
    say(f"Installed at {_path()}; it {'runs' if runs else 'does not run'}.")
    raise typer.Exit(0 if runs else 1)


def _text(home: str | None) -> str:
    program = [str(_program()), "up", "--home", str(home_of(os.environ, home).absolute())]
    return launchd_file(program, _user_home()) if _is_mac() else systemd_file(program)


def _program() -> Path:
    beside = Path(sys.executable).with_name("postroom")
    found = str(beside) if beside.exists() else shutil.which("postroom")
    if found is None:
        raise UserError("The command postroom is not installed where it could be started from.")
    return Path(found)


def _path() -> Path:
    if _is_mac():
        return _user_home() / "Library" / "LaunchAgents" / f"{LABEL}.plist"
    return Path(os.environ.get("XDG_CONFIG_HOME") or _user_home() / ".config") / "systemd" / "user" / UNIT


def _starting(path: Path) -> list[list[str]]:
    if _is_mac():
        return [["launchctl", "bootstrap", f"gui/{os.getuid()}", str(path)]]
    return [["systemctl", "--user", "daemon-reload"], ["systemctl", "--user", "enable", "--now", UNIT]]


def _stopping(path: Path) -> list[list[str]]:
    if _is_mac():
        return [["launchctl", "bootout", f"gui/{os.getuid()}", str(path)]]
    return [["systemctl", "--user", "disable", "--now", UNIT]]


def _run(words: list[str]) -> None:
    if shutil.which(words[0]) is None or _ended(words) != 0:
        complain(f"This did not work here: {' '.join(words)}")


def _ended(words: list[str]) -> int:
    return subprocess.run(words, check=False, capture_output=True).returncode  # noqa: S603  # our own words


def _is_mac() -> bool:
    return sys.platform == "darwin"


def _user_home() -> Path:
    return Path(os.environ.get("HOME") or Path.home())
