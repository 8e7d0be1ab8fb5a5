"""When a token was last used: noted by every call, written by none of them."""

from __future__ import annotations

import json
from pathlib import Path

from postroom.domain.principal import OPERATOR, Principal, Role
from postroom.domain.time import seconds
from postroom.doors.guard.token_document import token_id
from postroom.doors.guard.tokens import TokenFile

ADA = Principal(Role.PERSON, "ada")


def test_a_call_writes_nothing_and_the_next_round_writes_when_it_was(tmp_path: Path) -> None:
    running, shell = TokenFile(tmp_path / "tokens.json", lambda: seconds(7)), TokenFile(tmp_path / "tokens.json")
    used, unused = shell.create(ADA, label="phone"), shell.create(ADA, label="laptop")
    before = sorted(tmp_path.iterdir())

    for _ in range(100):
        assert running.verify(used) == ADA
    running.verify("of no caller at all")

    assert sorted(tmp_path.iterdir()) == before
    running.write_last_use(running.last_use.take())
    assert shell.last_use.read() == {token_id(used): "1970-01-01T00:00:07.000000Z"}
    assert unused not in "".join(file.read_text() for file in tmp_path.glob("tokens-last-use.json"))
    assert (tmp_path / "tokens-last-use.json").stat().st_mode & 0o077 == 0


def test_of_several_processes_the_latest_use_counts_and_revoked_tokens_are_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    now = [seconds(20)]
    one, other = TokenFile(path, lambda: now[0]), TokenFile(path, lambda: seconds(10))
    kept, gone = one.create(ADA), one.create(OPERATOR)
    for tokens in (one, other):
        tokens.verify(kept)
        tokens.verify(gone)
        tokens.write_last_use(tokens.last_use.take())
    assert set(one.last_use.read().values()) == {"1970-01-01T00:00:20.000000Z"}

    one.revoke(OPERATOR)
    one.verify(kept)
    one.write_last_use(one.last_use.take())

    assert list(one.last_use.read()) == [token_id(kept)]


def test_a_file_that_cannot_be_read_is_begun_anew(tmp_path: Path) -> None:
    tokens = TokenFile(tmp_path / "tokens.json")
    token = tokens.create(ADA)
    for broken in ("", "[]", "{", json.dumps({token_id(token): 5})):
        (tmp_path / "tokens-last-use.json").write_text(broken)
        assert tokens.last_use.read() == {}
        tokens.verify(token)
        tokens.write_last_use(tokens.last_use.take())
        assert list(tokens.last_use.read()) == [token_id(token)]
