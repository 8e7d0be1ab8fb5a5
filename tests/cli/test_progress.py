"""A bar is for people at a terminal; a script sees none of it."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

from tests.cli.command import postroom

MIGRATE = [sys.executable, "-m", "postroom", "migrate"]


def test_a_script_sees_no_bar(home: Path) -> None:
    done = postroom("migrate")

    assert done.code == 0 and done.error == ""
    assert done.out.startswith("The database went from revision none to ")


def test_a_person_at_a_terminal_sees_the_steps_go_by(home: Path) -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb", buffering=0) as terminal:
        done = subprocess.Popen(MIGRATE, stdout=subprocess.DEVNULL, stderr=theirs, env=os.environ | {"TERM": "xterm"})
        os.close(theirs)
        shown = b"".join(iter(lambda: _read(terminal.fileno()), b""))
        assert done.wait(60) == 0

    assert b"Migrating" in shown and b"100%" in shown


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # the other side has hung up
        return b""
