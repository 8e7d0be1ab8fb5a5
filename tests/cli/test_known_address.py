"""`postroom token create --user ID --email ADDRESS`, and what it leaves in the preferences."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from typer.testing import CliRunner

from postroom.app.store import open_store
from postroom.cli.token import app
from postroom.domain.notification import Preferences
from postroom.domain.principal import Principal, Role
from postroom.domain.settings_error import SettingsError
from postroom.doors.guard.tokens import TokenFile
from postroom.system.settings.load import load
from postroom.world.store.inbox.preferences import StoredPreferences


def run(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["create", *arguments])
    if done.exception is not None:
        raise done.exception
    return done.stdout.strip()


async def preferences(home: Path, user_id: str) -> Preferences:
    settings, _ = load({}, {"home": str(home)})
    async with open_store(settings) as store:
        return await StoredPreferences(store.database).of(user_id)


def test_a_person_gets_a_token_and_an_address(home: Path) -> None:
    token = run("--user", "ada", "--email", "Ada@EXAMPLE.com")

    assert TokenFile(home / "tokens.json").verify(token) == Principal(Role.USER, "ada")
    assert asyncio.run(preferences(home, "ada")) == Preferences(email="Ada@example.com")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--user", "ada", "--email", "nobody"), "--email: must be a single e-mail address."),
        (("--operator", "--email", "ada@example.com"), "--email goes with --person or --user: only people"),
    ],
    ids=["no address", "no person"],
)
def test_a_wrong_address_makes_no_token(home: Path, arguments: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence):
        run(*arguments)

    assert not (home / "tokens.json").exists()
