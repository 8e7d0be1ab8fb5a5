"""A database that a newer Postroom has worked on: every command says so in a sentence."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.cli.command import postroom
from tests.household.living import PORTS
from tests.services.ready_file import ready_file
from tests.support.spans import recording


@pytest.fixture(autouse=True)
def newer(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PORTS:
        monkeypatch.setenv(f"POSTROOM_PORTS__{name.upper()}", "0")
    monkeypatch.setenv("POSTROOM_URL", "http://127.0.0.1:1")  # for the link that `login` will not make
    recording()  # a process has one provider of spans: that of `up` would keep none of those that later tests look at
    ready_file(home / "postroom.db")
    with sqlite3.connect(home / "postroom.db") as connection:
        connection.execute("UPDATE postroom_version SET version_num = '9999'")


@pytest.mark.parametrize(
    "command",
    [["up"], ["migrate"], ["why", "01a1"], ["trace", "01a1"], ["login"], ["prune", "--dry-run"]],
    ids=lambda command: command[0],
)
def test_a_command_on_a_newer_database_ends_with_one_sentence(command: list[str]) -> None:
    done = postroom(*command)

    assert done.code == 1
    assert "is at revision 9999, which is newer than this program" in done.error
    assert "\n" not in done.error.strip()


def test_the_doctor_does_not_call_a_newer_database_ok() -> None:
    done = postroom("doctor")

    assert done.code == 1
    assert "problem  database: SQLite, at revision 9999, which is newer than this program" in done.out
