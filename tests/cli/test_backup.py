"""`postroom backup` where it is refused, and what its folder is; the page about it is followed in tests/docs."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from tests.cli.command import postroom


@pytest.fixture
def started(home: Path) -> Path:
    assert postroom("migrate").code == 0
    (home / "tokens.json").write_text("{}")
    (home / "postroom.db.lock").touch()
    (home / "files" / "ab").mkdir(parents=True)
    (home / "files" / "ab" / "cd").write_bytes(b"a file")
    (home / "files" / "handed-in").write_bytes(b"half of a file")
    (home / "sessions" / "health").mkdir(parents=True)
    return home


def test_a_backup_is_a_new_folder_for_its_owner_alone_with_the_database_and_the_files(
    started: Path, tmp_path: Path
) -> None:
    done = postroom("backup", str(tmp_path / "kept" / "monday"), "--json")

    folder = Path(json.loads(done.out)["folder"])
    assert (folder, folder.stat().st_mode & 0o777) == (tmp_path / "kept" / "monday", 0o700)
    assert [one.name for one in folder.parent.iterdir()] == ["monday"], "nothing unfinished stays"
    copied = {one.relative_to(folder).as_posix() for one in folder.rglob("*") if one.is_file()}
    assert {"postroom.db", "tokens.json", "files/ab/cd"} <= copied
    assert not copied & {"files/handed-in", "postroom.db.lock"} and not (folder / "sessions").exists()
    with sqlite3.connect(folder / "postroom.db") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_no_folder_is_written_over_and_none_lies_in_the_home(started: Path, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    refused = {
        str(tmp_path / "there"): "is there already",
        str(started / "backup"): "lies in the household's own folder",
    }
    for folder, words in refused.items():
        done = postroom("backup", folder)
        assert (done.code, words in done.error) == (1, True), done

    assert list((tmp_path / "there").iterdir()) == [] and not (started / "backup").exists()


def test_where_no_household_was_started_there_is_nothing_to_copy(home: Path, tmp_path: Path) -> None:
    done = postroom("backup", str(tmp_path / "monday"))

    assert done.code == 1 and "No household has been started" in done.error
    assert not (tmp_path / "monday").exists()


def test_a_password_stands_on_no_command_line(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bin" / "pg_dump"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/words\necho "$PGPASSWORD" > {tmp_path}/password\nexit 3\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    done = postroom("backup", str(tmp_path / "monday"), "--database", "postgresql://ann:c%40nary@db/butlers")

    assert done.code == 1 and "pg_dump ended with 3" in done.error
    assert (tmp_path / "words").read_text().split()[-1] == "--dbname=postgresql://ann@db/butlers"
    assert (tmp_path / "password").read_text().strip() == "c@nary"
