"""Secrets are not seen: not in a repr, not in a dump, not in an error, not in `postroom config`."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest
from typer.testing import CliRunner

from postroom.cli.application import app
from postroom.domain.settings_error import SettingsError
from postroom.system.settings import Secret, SecretUrl
from postroom.system.settings.load import load

CANARY = "canary-7f3a"
ENVIRONMENT = {
    "BUTLER_TELEGRAM_TOKEN": f"123456:{CANARY}",
    "BUTLER_EMAIL_ADDRESS": "bot@example.com",
    "BUTLER_EMAIL_PASSWORD": CANARY,
    "POSTROOM_DATABASE_URL": f"postgresql://ann:{CANARY}@db.example:5433/butlers?password={CANARY}",
    "POSTROOM_REDIS_URL": f"redis://:{CANARY}@cache.example:6379/0",
}


def test_no_form_of_the_settings_shows_a_secret(tmp_path: Path) -> None:
    settings, sources = load({"POSTROOM_HOME": str(tmp_path), **ENVIRONMENT})

    shown = [repr(settings), str(settings), settings.model_dump_json(), f"{settings.model_dump()}", str(sources)]
    assert not [text for text in shown if CANARY in text]
    assert settings.telegram.token.reveal().endswith(CANARY)
    assert CANARY in settings.database


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["text", "json"])
def test_the_config_command_shows_where_and_never_how(
    home: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)

    result = CliRunner().invoke(app, ["config", *options])

    assert result.exit_code == 0, result.output
    assert CANARY not in result.output
    assert "postgresql://***@db.example:5433/butlers?***" in result.output
    assert "BUTLER_TELEGRAM_TOKEN" in result.output
    if options:
        assert json.loads(result.output)["email.password"] == {"value": "***", "source": "BUTLER_EMAIL_PASSWORD"}


@pytest.mark.parametrize(
    "toml",
    [
        f'[telegram]\ntoken = ["{CANARY}"]',
        f'[telegram]\ntoken = {{ value = "{CANARY}" }}',
        f'[telegram]\ntokne = "{CANARY}"',
        f'telegram = "{CANARY}"',
        f'[email]\npassword = "{CANARY}',
        f'database_url = ["{CANARY}"]',
    ],
)
def test_an_error_about_a_secret_does_not_repeat_it(tmp_path: Path, toml: str) -> None:
    (tmp_path / "secrets.toml").write_text(toml)

    with pytest.raises(SettingsError) as caught:
        load({"POSTROOM_HOME": str(tmp_path)})

    assert CANARY not in str(caught.value) + repr(caught.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("", ""),
        ("sqlite:////data/postroom.db", "sqlite:////data/postroom.db"),
        ("postgresql://db/butlers", "postgresql://db/butlers"),
        ("postgresql://ann@db/butlers", "postgresql://***@db/butlers"),
        ("postgresql://ann:pw@[::1]:5432/butlers", "postgresql://***@::1:5432/butlers"),
        ("postgresql://db/butlers?password=pw", "postgresql://db/butlers?***"),
        ("postgresql://ann:p@w@db:port/x", "***"),
    ],
)
def test_an_address_shows_where_it_leads(url: str, shown: str) -> None:
    assert repr(SecretUrl(url)) == str(SecretUrl(url)) == shown


def test_a_secret_is_a_value() -> None:
    assert Secret("a") == Secret("a") != Secret("b")
    assert len({Secret("a"), Secret("a")}) == 1
    assert (bool(Secret("")), bool(Secret("a"))) == (False, True)
    assert (repr(Secret("")), f"{Secret('a')}", f"{[Secret('a')]}") == ("''", "***", "[***]")
    assert pickle.loads(pickle.dumps(Secret("a"))) == Secret("a")
