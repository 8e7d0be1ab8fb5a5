"""`postroom doctor`: one line for each finding, and a code that a script can read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.command import postroom
from tests.household.living import PORTS


@pytest.fixture(autouse=True)
def free_ports(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PORTS:
        monkeypatch.setenv(f"POSTROOM_PORTS__{name.upper()}", "0")


def test_a_new_home_is_well_and_stays_untouched(home: Path) -> None:
    done = postroom("doctor")

    assert done.code == 0
    assert all(line.startswith("ok ") for line in done.out.splitlines())
    assert list(home.iterdir()) == []


def test_a_problem_is_said_with_what_to_do_and_ends_with_1(home: Path) -> None:
    tokens = home / "tokens.json"
    tokens.write_text("{}")
    tokens.chmod(0o644)

    done = postroom("doctor")

    assert done.code == 1
    assert f"problem  tokens: {tokens} is open to others (mode 0644)  → chmod 600 {tokens}" in done.out


def test_every_subject_is_looked_at() -> None:
    findings = json.loads(postroom("doctor", "--json").out)

    subjects = {"python", "home", "tokens", "roster", "port", "database", "channels", "clock", "display", "models"}
    assert {finding["subject"] for finding in findings} == subjects
