"""The token file: only its owner's, never half-written, and counting at once."""

from __future__ import annotations

import json
import os
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from postroom.domain.principal import OPERATOR, Principal, Role
from postroom.guard.tokens import TokenFile, TokenFileError

HEALTH = Principal(Role.BUTLER, "health")
ANN = Principal(Role.USER, "ann")
CHATGPT = Principal(Role.CONNECTOR, "chatgpt")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "tokens.json"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_tokens_are_made_once_and_only_the_owner_can_read_them(path: Path) -> None:
    TokenFile(path).ensure([OPERATOR, HEALTH])
    before = path.read_text()
    TokenFile(path).ensure([OPERATOR, HEALTH])

    assert path.read_text() == before
    assert mode(path) == 0o600
    assert set(json.loads(before)) == {"operator", "butlers"}
    assert sorted(file.name for file in path.parent.iterdir()) == [".tokens.json.lock", "tokens.json"]


def test_a_file_others_can_read_is_closed_to_them(path: Path) -> None:
    TokenFile(path).ensure([OPERATOR])
    path.chmod(0o644)

    TokenFile(path).ensure([OPERATOR])

    assert mode(path) == 0o600


@pytest.mark.parametrize("principal", [OPERATOR, HEALTH, ANN, CHATGPT], ids=str)
def test_a_token_stands_for_its_principal_until_it_is_revoked(path: Path, principal: Principal) -> None:
    running, shell = TokenFile(path), TokenFile(path)
    token = shell.create(principal)
    assert running.verify(token) == principal
    assert running.token_of(principal) == token

    newer = shell.create(principal)
    assert (running.verify(token), running.verify(newer)) == (None, principal)

    assert shell.revoke(principal)
    assert running.verify(newer) is None
    assert not shell.revoke(principal)
    assert principal not in shell.principals()


@pytest.mark.parametrize("token", ["", " ", "None", "null", "pr_operator_", "\ud800", "x" * 100_000])
def test_what_is_no_token_is_nobody(path: Path, token: str) -> None:
    tokens = TokenFile(path)
    assert tokens.verify(token) is None
    tokens.ensure([OPERATOR])
    assert tokens.verify(token) is None


@pytest.mark.parametrize(
    "document",
    [
        {"operator": None, "butlers": {"health": None, "general": ""}},
        {"operator": 5, "butlers": {"health": ["None"]}},
        {"operator": "short", "butlers": [], "users": "all", "connectors": None},
        {"operator": True, "users": {"ann": {"token": "x" * 40}}},
    ],
)
def test_a_strange_entry_opens_no_door(path: Path, document: dict[str, Any]) -> None:
    path.parent.mkdir()
    path.write_text(json.dumps(document))
    tokens = TokenFile(path)

    for token in ("None", "", "5", "short", "True", "['None']", "all"):
        assert tokens.verify(token) is None
    tokens.ensure([OPERATOR, HEALTH])
    assert tokens.verify(tokens.token_of(HEALTH) or "") == HEALTH


@pytest.mark.parametrize("content", ["", "{", "[]", '"text"', "\x00"])
def test_a_broken_file_lets_nobody_in_and_is_not_overwritten(path: Path, content: str) -> None:
    tokens = TokenFile(path)
    token = tokens.create(OPERATOR)
    assert tokens.verify(token) == OPERATOR
    path.write_text(content)

    assert tokens.verify(token) is None
    for change in (lambda: tokens.ensure([HEALTH]), lambda: tokens.create(HEALTH), lambda: tokens.revoke(OPERATOR)):
        with pytest.raises(TokenFileError, match=r"tokens\.json"):
            change()
    assert path.read_text() == content


def test_a_file_that_is_gone_lets_nobody_in(path: Path) -> None:
    tokens = TokenFile(path)
    token = tokens.create(OPERATOR)
    tokens.verify(token)

    path.unlink()

    assert tokens.verify(token) is None


def test_processes_that_start_together_agree_on_their_tokens(path: Path) -> None:
    barrier = threading.Barrier(8)

    def start(number: int) -> tuple[str | None, str | None]:
        tokens = TokenFile(path)
        barrier.wait()
        tokens.ensure([OPERATOR, HEALTH, Principal(Role.BUTLER, f"butler-{number}")])
        return tokens.token_of(OPERATOR), tokens.token_of(HEALTH)

    with ThreadPoolExecutor(8) as pool:
        seen = set(pool.map(start, range(8)))

    assert len(seen) == 1
    assert len(TokenFile(path).principals()) == 10


def test_a_write_that_fails_leaves_the_old_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = TokenFile(path)
    token = tokens.create(OPERATOR)

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        tokens.create(HEALTH)

    assert tokens.verify(token) == OPERATOR
    assert sorted(file.name for file in path.parent.iterdir()) == [".tokens.json.lock", "tokens.json"]
