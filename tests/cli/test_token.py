"""`postroom token`: made, shown, listed, revoked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import postroom


def test_a_token_is_shown_as_it_was_made_until_it_is_revoked(home: Path) -> None:
    made = postroom("token", "create", "--user", "ada").out

    assert postroom("token", "show", "--user", "ada").out == made
    assert postroom("token", "list").out == "user:ada\n"
    assert postroom("token", "revoke", "--user", "ada").code == 0
    assert postroom("token", "show", "--user", "ada").code == 1
    assert (home / "tokens.json").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("command", ["show", "revoke"])
def test_a_mistyped_caller_is_answered_with_the_nearest(home: Path, command: str) -> None:
    postroom("token", "create", "--connector", "chatgpt")

    done = postroom("token", command, "--connector", "chatgtp")

    assert (done.code, done.error) == (1, "connector:chatgtp has no token, did you mean 'connector:chatgpt'?")
