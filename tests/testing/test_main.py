"""The command: what it prints, and how it ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT


def command(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "postroom.testing", *words],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "examples")])},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_what_holds_ends_with_0_and_a_report() -> None:
    done = command("beeper_case:CASE", "--only", "throttled")

    assert done.returncode == 0, done.stderr
    assert "4 ok, 0 failed, 3 not applicable." in done.stdout
    assert "| `throttled-seconds` |" in done.stdout


def test_what_fails_ends_with_1_and_says_why(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(
        "from tests.testing.broken.delivered_on_500 import Broken\n"
        "from tests.testing.pager_case import case_of\n"
        "CASE = case_of(Broken)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "postroom.testing", "wrong", "--only", "broken"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 1, done.stderr
    assert "**failed**: expected ProviderFailed or OutcomeUncertain, and a receipt came back" in done.stdout


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("no_such_module:CASE", "no_such_module"),
        ("beeper_case:NOTHING", "NOTHING"),
        ("beeper_case:accepted", "no postroom.testing.Case"),
    ],
)
def test_what_is_no_case_ends_with_2_and_one_sentence(name: str, said: str) -> None:
    done = command(name)

    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_a_choice_that_leaves_nothing_is_no_success() -> None:
    assert command("beeper_case:CASE", "--only", "no-such-thing").returncode == 1
