"""`postroom init`: what it writes can be started with the command it prints."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from tests.cli.command import postroom


def test_the_printed_command_names_the_folders_whatever_they_are_called(home: Path) -> None:
    folder = home / "my own house"

    done = postroom("init", str(folder), "--json")

    command = shlex.split(json.loads(done.out)["command"])
    assert command == ["postroom", "up", "--home", str(folder), "--roster", str(folder / "roster")]
    assert (folder / "roster" / "messenger" / "butler.toml").is_file()


def test_a_household_that_is_there_is_left_alone(home: Path) -> None:
    postroom("init", str(home / "house"))

    again = postroom("init", str(home / "house"))

    assert (again.code, "already holds a household" in again.error) == (1, True)
