"""The data directory through the doctor's eyes."""

from __future__ import annotations

from pathlib import Path

import pytest

from postroom.cli.doctor.checks import Finding
from postroom.cli.doctor.doctor import look_at_files
from postroom.settings import Settings


def findings(home: Path) -> dict[str, Finding]:
    return {finding.subject: finding for finding in look_at_files(Settings(home=home))}


def test_a_home_that_is_not_there_yet_is_no_problem(tmp_path: Path) -> None:
    found = findings(tmp_path / "new" / "home")

    assert found["home"].ok and "will be made" in found["home"].detail


def test_a_home_that_is_a_file_is_one(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("")

    assert not findings(tmp_path / "home")["home"].ok


@pytest.mark.parametrize(
    ("name", "subject"),
    [("tokens.json", "tokens"), ("secrets.toml", "secrets"), ("postroom.db", "database file")],
)
@pytest.mark.parametrize(("mode", "is_well"), [(0o600, True), (0o640, False), (0o604, False)])
def test_what_is_private_must_be_closed_to_others(
    tmp_path: Path, name: str, subject: str, mode: int, is_well: bool
) -> None:
    file = tmp_path / name
    file.write_text("")
    file.chmod(mode)

    found = findings(tmp_path)[subject]

    assert found.ok is is_well
    assert found.advice == ("" if is_well else f"chmod 600 {file}")
