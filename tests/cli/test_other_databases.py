"""A database of a newer Postroom, or of one before the first release: every command says so in a sentence."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.cli.command import postroom
from tests.household.living import PORTS
from tests.services.ready_file import ready_file
from tests.support.spans import recording

COMMANDS = [["up"], ["migrate"], ["why", "01a1"], ["trace", "01a1"], ["login"], ["prune", "--dry-run"]]
REVISIONS = {
    "9999": "is at revision 9999, which is newer than this program",
    "0100": "is at revision 0100, from before the first release, which this program does not bring further",
}


@pytest.fixture(params=REVISIONS)
def sentence(request: pytest.FixtureRequest, home: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    for name in PORTS:
        monkeypatch.setenv(f"POSTROOM_PORTS__{name.upper()}", "0")
    monkeypatch.setenv("POSTROOM_URL", "http://127.0.0.1:1")  # for the link that `login` will not make
    recording()  # a process has one provider of spans: that of `up` would keep none of those that later tests look at
    ready_file(home / "postroom.db")
    with sqlite3.connect(home / "postroom.db") as connection:
        connection.execute("UPDATE postroom_version SET version_num = ?", [request.param])
    return REVISIONS[request.param]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_command_on_a_database_it_does_not_know_ends_with_one_sentence(command: list[str], sentence: str) -> None:
    done = postroom(*command)

    assert done.code == 1
    assert sentence in done.error
    assert "\n" not in done.error.strip()


def test_the_doctor_does_not_call_such_a_database_ok(sentence: str) -> None:
    done = postroom("doctor")

    assert done.code == 1
    assert f"problem  database: SQLite, {sentence.removeprefix('is ')}" in done.out
