"""`postroom config`: what is in force, and no secret."""

from __future__ import annotations

import asyncio
import json
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from postroom.household.store import open_store
from postroom.inbox.model import Preferences
from postroom.inbox.store.mail import StoredPreferences
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.values.errors import SettingsError
from postroom.kernel.values.principal import Principal, Role
from postroom.people.signing_in.commands import app
from postroom.settings.load import load
from tests.cli.command import postroom

ACCOUNTS = """
[channels.work]
kind = "telegram"
token = "1:canary-${PART}"

[channels.calls]
kind = "webhook"
url = "https://canary.example.org/hook"
secret = "whsec_canary"

[channels.other]
kind = "apprise"
url = "json://user:canary@example.org"

[channels.pager]
factory = "pagers:Pager"
options = { code = "canary" }
"""


@pytest.mark.requirement("chan:account-errors")
def test_accounts_are_shown_without_their_secrets(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "postroom.toml").write_text(ACCOUNTS, encoding="utf-8")
    monkeypatch.setenv("PART", "canary")

    plain, told = postroom("config"), json.loads(postroom("config", "--json").out)

    file = str(home / "postroom.toml")
    assert told["channels.work.kind"] == {"value": "telegram", "source": file}
    hidden = ("work.token", "calls.url", "calls.secret", "other.url", "pager.options.code")
    assert {told[f"channels.{name}"]["value"] for name in hidden} == {"***"}
    assert told["channels.calls.allow_private"] == {"value": False, "source": "default"}
    assert "canary" not in plain.out and "canary" not in json.dumps(told)


def test_the_printed_command_names_the_folders_whatever_they_are_called(home: Path) -> None:
    folder = home / "my own house"

    done = postroom("init", str(folder), "--json")

    command = shlex.split(json.loads(done.out)["command"])
    assert command == ["postroom", "up", "--home", str(folder), "--roster", str(folder / "roster")]
    assert (folder / "roster" / "messenger" / "butler.toml").is_file()


def test_a_household_that_is_there_is_left_alone(home: Path) -> None:
    postroom("init", str(home / "house"))

    again = postroom("init", str(home / "house"))

    assert (again.code, "already holds a household" in again.error) == (1, True)


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
