from __future__ import annotations

import time
from pathlib import Path

import pytest

from postroom.programs.desk.system import PROBE_SECONDS, ThisSystem


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path


def script(folder: Path, name: str, body: str) -> None:
    file = folder / name
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)


def test_a_program_is_asked_and_its_words_are_returned(programs: Path) -> None:
    script(programs, "setting", 'echo "value of $1"')
    assert ThisSystem().output("setting", "x") == "value of x"


@pytest.mark.parametrize("body", ["exit 3", "exec sleep 30"], ids=["fails", "hangs"])
def test_a_program_that_does_not_answer_costs_little(programs: Path, body: str) -> None:
    script(programs, "setting", body)
    started = time.monotonic()
    assert ThisSystem().output("setting") is None
    assert time.monotonic() - started < PROBE_SECONDS + 10


def test_a_missing_program_or_value_is_no_answer(programs: Path) -> None:
    assert ThisSystem().output("no-such-program") is None
    assert ThisSystem().registry("a", "b") is None
