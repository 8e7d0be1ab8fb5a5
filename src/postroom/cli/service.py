"""`postroom service`: a household that runs whenever you are signed in, so that agents always find one."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from postroom.cli.output import Home, Json, complain, say, say_json
from postroom.cli.progress import bar
from postroom.domain.errors import UserError
from postroom.programs.connections import home_of, replace_file
from postroom.programs.service import LABEL, UNIT, launchd_file, systemd_file

app = typer.Typer(help="Run the household as a service of your own account.", no_args_is_help=True)
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the file and change nothing.")]


@app.command("install")
def install(home: Home = None, dry_run: DryRun = False, json: Json = False) -> None:
    """Write the service's file (systemd, or launchd on macOS) and start it."""
    text, path = _text(home), _path()
    if dry_run:
        say_json({"file": str(path), "written": False, "text": text, "failed": []}) if json else say(text.rstrip("\n"))
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, text.encode(), 0o644)
    if not json:
        say(f"Wrote {path}.")
    failed = _all_run(_starting(path), "Starting the service", quiet=json)
    if json:
        say_json({"file": str(path), "written": True, "text": text, "failed": failed})


@app.command("remove")
def remove(dry_run: DryRun = False, json: Json = False) -> None:
    """Stop it and remove the file; the household's data stays."""
    path, failed = _path(), list[str]()
    said, there = "There is no service to remove.", path.exists()
    if there and dry_run:
        said = f"Would stop it and remove {path}."
    elif there:
        failed = _all_run(_stopping(path), "Stopping the service", quiet=json)
        path.unlink()
        said = f"Removed {path}."
    gone = there and not dry_run
    say_json({"file": str(path), "removed": gone, "failed": failed}) if json else say(said)


@app.command("status")
def status(json: Json = False) -> None:
    """Whether it is installed and runs; exits with 1 when it does not."""
    installed, runs = _path().exists(), False
    said = "Not installed: `postroom service install` does it."
    if installed:
        words = ["launchctl", "list", LABEL] if _is_mac() else ["systemctl", "--user", "is-active", UNIT]
        runs = shutil.which(words[0]) is not None and _ended(words) == 0
        said = f"Installed at {_path()}; it {'runs' if runs else 'does not run'}."
    say_json({"file": str(_path()), "installed": installed, "runs": runs}) if json else say(said)
    raise typer.Exit(0 if runs else 1)


def _text(home: str | None) -> str:
    program = [str(_program()), "up", "--home", str(home_of(os.environ, home).absolute())]
    return launchd_file(program, _user_home()) if _is_mac() else systemd_file(program)


def _program() -> Path:
    beside = Path(sys.executable).with_name("postroom")
    found = str(beside) if beside.exists() else shutil.which("postroom")
    if found is None:
        raise UserError(
            "The command postroom is not installed where a service could start it: install it with pipx or uv."
        )
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


def _all_run(commands: list[list[str]], title: str, *, quiet: bool) -> list[str]:
    """Those that did not work."""
    failed = []
    with bar(title, quiet=quiet) as show:
        for place, words in enumerate(commands, 1):
            if shutil.which(words[0]) is None or _ended(words) != 0:
                failed.append(shlex.join(words))
            show(place, len(commands))
    for one in failed:
        complain(f"This did not work here: {one}; type it yourself to see why, or let `postroom up` run in a terminal.")
    return failed


def _ended(words: list[str]) -> int:
    return subprocess.run(words, check=False, capture_output=True).returncode  # noqa: S603  # our own words


def _is_mac() -> bool:
    return sys.platform == "darwin"


def _user_home() -> Path:
    return Path(os.environ.get("HOME") or Path.home())
