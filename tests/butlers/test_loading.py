"""The modules a butler's file can name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.household.living import settings_for

from postroom.butlers.loading import credentials_by_name, failing_modules, with_credentials
from postroom.household.channels import build_channels
from postroom.household.store import shipped
from postroom.settings import Secret, Settings
from postroom.settings.roster import ButlerConfig

VARIABLES = {"OUR_BOT": "1:bot", "OUR_MAILBOX": "butler@example.org", "OUR_PASSWORD": "open sesame"}
OWN_NAMES = {
    "telegram": {"bot": {"token_env": "OUR_BOT"}},
    "email": {"bot": {"address_env": "OUR_MAILBOX", "password_env": "OUR_PASSWORD"}},
}


def roster(**modules: Any) -> list[ButlerConfig]:
    """The shipped one, with other words about the messenger's channels."""
    return [
        one.model_copy(update={"modules": {**one.modules, **modules}}) if one.name == "messenger" else one
        for one in shipped(Settings(home=Path("unused")))
    ]


def messenger(configs: list[ButlerConfig]) -> ButlerConfig:
    return next(one for one in configs if one.name == "messenger")


def test_the_variables_that_the_file_names_are_read(home: Path) -> None:
    settings = with_credentials(settings_for(home), roster(**OWN_NAMES), VARIABLES)

    assert settings.telegram.token.reveal() == "1:bot"
    assert (settings.email.address, settings.email.password.reveal()) == ("butler@example.org", "open sesame")
    assert not settings.in_sandbox
    assert set(build_channels(settings, None)) == {"telegram", "email"}


def test_what_they_do_not_give_stays_as_the_settings_have_it(home: Path) -> None:
    settings = settings_for(home, {"telegram": {"token": "2:ours"}})

    assert with_credentials(settings, roster(**OWN_NAMES), {}) == settings
    assert with_credentials(settings, [], VARIABLES) == settings


@pytest.mark.parametrize(("left_out", "left"), [("telegram", {"email"}), ("email", {"telegram"})])
def test_a_channel_that_the_file_switches_off_is_not_built(home: Path, left_out: str, left: set[str]) -> None:
    without = OWN_NAMES | {left_out: {"bot": {**OWN_NAMES[left_out]["bot"], "enabled": False}}}

    settings = with_credentials(settings_for(home), roster(**without), VARIABLES)

    assert set(build_channels(settings, None)) == left


def test_a_household_that_switches_off_all_it_has_does_not_become_a_sandbox(home: Path) -> None:
    nothing = {"telegram": {"bot": {"enabled": False, "token_env": "OUR_BOT"}}}

    settings = with_credentials(settings_for(home), roster(**nothing), VARIABLES)

    assert not settings.in_sandbox
    assert build_channels(settings, None) == {}


def test_modules_find_credentials_of_a_file_under_the_name_they_ask_for(home: Path) -> None:
    settings = settings_for(home, {"telegram": {"token": "2:ours"}})

    held = credentials_by_name(settings, messenger(roster(**OWN_NAMES)))

    assert {name: secret.reveal() for name, secret in held.items()} == {"OUR_BOT": "2:ours"}


def test_a_module_that_cannot_work_is_known_by_why(home: Path) -> None:
    sending = {"user": {"enabled": True}}, {"bot": OWN_NAMES["email"]["bot"]}
    config = messenger(roster(telegram=sending[0], email=sending[1]))
    settings = settings_for(home, {"telegram": {"token": "2:ours"}})

    assert failing_modules(config, settings, {}) == {
        "calendar": "",
        "email": "no credentials: OUR_MAILBOX, OUR_PASSWORD is not set",
        "telegram": "modules.telegram.user cannot be enabled: only bots send",
    }
    given = {"OUR_MAILBOX": Secret("butler@example.org"), "OUR_PASSWORD": Secret("open sesame")}
    assert failing_modules(config, settings, given)["email"] == ""
