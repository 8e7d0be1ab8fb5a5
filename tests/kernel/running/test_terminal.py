"""Lengths of time as people type them."""

from __future__ import annotations

import os
import pty
import queue
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.command import postroom
from tests.patience import PATIENCE_SECONDS
from tests.services.ready_file import ready_file

from postroom.kernel.running.terminal import as_called, lines, seconds_of, typed_name
from postroom.kernel.values.errors import SettingsError

GOOD = {"90s": 90, "15m": 900, "1h": 3600, "2d": 172_800, "1h30m": 5400, "25": 25, "0": 0, "0.5h": 1800, " 1H ": 3600}


@pytest.mark.parametrize(("text", "seconds"), GOOD.items(), ids=GOOD)
def test_a_length_is_a_number_with_a_unit_or_seconds(text: str, seconds: float) -> None:
    assert seconds_of(text, "--wait") == seconds


@pytest.mark.parametrize("text", ["", "soon", "1w", "-5s", "1h30", "inf", "nan", "1e9", "9" * 30, "١h"])
def test_anything_else_is_refused_by_the_option_it_was_given_for(text: str) -> None:
    with pytest.raises(SettingsError, match=r"--wait: .* like 90s, 15m, 1h or 2d"):
        seconds_of(text, "--wait")


def test_hints_name_the_program_as_it_was_called_where_the_shell_does_not_know_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "argv", [".venv/bin/postroom", "up"])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert typed_name() == ".venv/bin/postroom"
    assert as_called("Is it running? `postroom up` starts it.") == "Is it running? `.venv/bin/postroom up` starts it."

    (tmp_path / "postroom").write_text("#!/bin/sh\n")
    (tmp_path / "postroom").chmod(0o755)
    assert typed_name() == "postroom"


def test_a_script_sees_no_bar(home: Path) -> None:
    done = postroom("migrate")

    assert done.code == 0 and done.error == ""
    assert done.out.startswith("The database went from revision none to ")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # the other side has hung up
        return b""


@pytest.mark.requirement("side:words-progress")
def test_elsewhere_a_line_comes_now_and_then() -> None:
    written: queue.Queue[str] = queue.Queue()

    with lines("Migrating", written.put, every_seconds=0.01) as show:
        assert re.fullmatch(r"Migrating: still at it, \d+ s", written.get(timeout=PATIENCE_SECONDS))
        show(12, None)
        assert _until(written, "12 so far")
        show(1_200, 3_000)
        assert _until(written, "1,200 of 3,000")
    many = written.qsize()

    assert written.qsize() == many, "nothing more once it is over"


def test_what_is_over_soon_says_nothing() -> None:
    written: list[str] = []

    with lines("Migrating", written.append) as show:
        show(1, 1)

    assert written == []


@pytest.mark.requirement("side:words-progress")
@pytest.mark.parametrize(
    ("arguments", "title"),
    [
        (["migrate"], b"Migrating"),
        (["prune"], b"Pruning"),
        (["contacts", "import", "people.csv"], b"Reading people.csv"),
        (["attention", "simulate", "--policy", "other.toml"], b"Replaying"),
    ],
    ids=["migrate", "prune", "import", "simulate"],
)
def test_long_work_shows_a_bar_on_a_terminal_and_none_under_json(
    arguments: list[str], title: bytes, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ready_file(home / "postroom.db")
    (tmp_path / "people.csv").write_text("name,email\nBob,bob@example.org\n")
    (tmp_path / "other.toml").write_text('preset = "calm"\n')

    code, shown = on_terminal(*arguments)
    assert (code, title in shown) == (0, True), shown
    code, shown = on_terminal(*arguments, "--json")
    assert (code, shown) == (0, b"")


def on_terminal(*arguments: str) -> tuple[int, bytes]:
    """What a person sees on standard error."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "postroom", *arguments]
    with os.fdopen(ours, "rb", buffering=0) as terminal:
        done = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs, env=os.environ | {"TERM": "xterm"})
        os.close(theirs)
        shown = b"".join(iter(lambda: _read(terminal.fileno()), b""))
        return done.wait(60), shown


def _until(written: queue.Queue[str], words: str) -> bool:
    return any(words in written.get(timeout=PATIENCE_SECONDS) for _ in range(1_000))
