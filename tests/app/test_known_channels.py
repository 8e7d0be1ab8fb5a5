"""What a message may name, with what the channels ask for and what the household says instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from postroom.app.known_channels import account_kinds, configured_channels, known_channels, usable_channels
from postroom.app.policy import delivery_policy
from postroom.domain.capabilities import UNDECLARED, Capabilities
from postroom.system.settings.shipped import SHIPPED
from postroom.world.channels.kinds import KINDS
from tests.app.living import settings_for
from tests.architecture.tree import ROOT

BEEPER = {"channels": {"beeper": {"factory": "beeper_channel:Beeper", "options": {"url": "http://127.0.0.1:9"}}}}
NOWHERE = {"channels": {"pager": {"factory": "nowhere:Pager"}}}


def test_without_a_word_in_the_settings_the_shipped_channels_are_as_they_declare(home: Path) -> None:
    settings = settings_for(home)
    policy = delivery_policy(settings, known_channels(settings))

    assert known_channels(settings) == {name: KINDS[name] for name in SHIPPED}
    assert (policy.timeout_seconds("telegram"), policy.timeout_seconds("email")) == (15.0, 45.0)
    assert {name for name, one in KINDS.items() if one.timeout_seconds is not None} == set(SHIPPED)
    assert policy.timeout_seconds("slack") == 30.0
    assert (policy.spacing_seconds["telegram"], policy.spacing_seconds["email"]) == (1.0, 0.0)
    shipped = {"telegram.bot": 30, "telegram.user": 20, "email.bot": 20, "email.user": 10}
    assert shipped.items() <= policy.limits.channels.items()


@pytest.mark.requirement("house:channel-settings-win")
def test_the_households_numbers_win_over_a_channels(home: Path) -> None:
    settings = settings_for(
        home,
        {
            "timeouts": {"telegram_seconds": 3, "email_seconds": 4, "default_seconds": 5},
            "delivery": {"telegram_chat_interval_seconds": 0},
            "limits": {"channels": {"telegram.bot": 7, "email.user": 8, "beeper.bot": 9}},
        },
    )
    known = known_channels(settings)
    policy = delivery_policy(settings, known)

    assert [policy.timeout_seconds(name) for name in ("telegram", "email", "beeper")] == [3, 4, 5]
    assert policy.spacing_seconds["telegram"] == 0
    assert [policy.limits.channel_per_minute(one) for one in ("telegram.bot", "email.user", "beeper.bot")] == [7, 8, 9]
    assert (known["telegram"].timeout_seconds, known["telegram"].bot_per_minute) == (3, 7)


def test_a_channel_of_ones_own_asks_for_numbers_as_ours_do(home: Path) -> None:
    settings = settings_for(home)
    asked = Capabilities(timeout_seconds=60, spacing_seconds=2, bot_per_minute=6)
    policy = delivery_policy(settings, {**known_channels(settings), "pager": asked})

    assert (policy.timeout_seconds("pager"), policy.spacing_seconds["pager"]) == (60, 2)
    assert policy.limits.channel_per_minute("pager.bot") == 6


def test_a_factory_says_what_its_channel_can_and_one_that_is_not_here_says_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "examples"))

    known = known_channels(settings_for(home, BEEPER, NOWHERE))

    assert list(known) == ["telegram", "email", "beeper", "pager"]
    assert (known["beeper"].replies, known["beeper"].unit, known["beeper"].max_units) == (False, "bytes", 4096)
    assert known["pager"] == UNDECLARED
    assert list(account_kinds(settings_for(home, BEEPER, NOWHERE)).values()) == [
        "telegram",
        "email",
        "factory",
        "factory",
    ]


def test_channels_are_tried_in_the_order_they_are_set_up(home: Path) -> None:
    own = settings_for(home, BEEPER, {"email": {"address": "us@example.org", "password": "x"}})

    assert usable_channels(settings_for(home)) == SHIPPED
    assert usable_channels(own) == ("email", "beeper")
    assert usable_channels(settings_for(home, {"sandbox": False})) == ("telegram",)
    assert configured_channels(settings_for(home, {"sandbox": False})) == ()


TWO_BOTS = {
    "channels": {
        "work": {"kind": "telegram", "token": "1:work"},
        "telegram": {"kind": "telegram", "token": "2:home"},
        "calls": {"kind": "webhook", "url": "https://example.org/calls"},
    }
}


@pytest.mark.requirement("chan:one-list")
def test_the_sections_come_first_and_then_the_files_order(home: Path) -> None:
    settings = settings_for(home, TWO_BOTS, {"email": {"address": "us@example.org"}})

    assert [(one.name, one.kind) for one in settings.accounts] == [
        ("telegram", "telegram"),
        ("email", "email"),
        ("work", "telegram"),
        ("calls", "webhook"),
    ]
    assert configured_channels(settings) == tuple(one.name for one in settings.accounts)
    assert list(known_channels(settings)) == ["telegram", "email", "work", "calls"]


@pytest.mark.requirement("chan:numbers-by-account")
def test_pauses_go_by_kind_and_limits_by_account(home: Path) -> None:
    numbers = {
        "timeouts": {"telegram_seconds": 3},
        "delivery": {"telegram_chat_interval_seconds": 7},
        "limits": {"channels": {"work.bot": 2}},
    }
    settings = settings_for(home, TWO_BOTS, numbers)
    policy = delivery_policy(settings, known_channels(settings))

    assert (policy.timeout_seconds("work"), policy.spacing_seconds["work"]) == (3, 7)
    assert [policy.limits.channel_per_minute(one) for one in ("work.bot", "telegram.bot")] == [2, 30]


@pytest.mark.requirement("chan:sandbox-accounts")
def test_in_the_sandbox_every_account_of_a_kind_it_plays_can_be_used(home: Path) -> None:
    settings = settings_for(home, TWO_BOTS, {"sandbox": True})

    assert configured_channels(settings) == (*SHIPPED, "work")
    assert "calls" in known_channels(settings)


def test_slack_without_the_apps_token_hears_nothing(home: Path) -> None:
    tokens = {"deaf": {"kind": "slack", "bot_token": "xoxb-1"}}
    tokens["hears"] = {**tokens["deaf"], "app_token": "xapp-1"}
    known = known_channels(settings_for(home, {"channels": tokens}))

    assert not known["deaf"].inbound
    assert known["hears"] == KINDS.get("slack", UNDECLARED)
