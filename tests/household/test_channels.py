"""An account of the settings becomes the channel of its kind, under its own name."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from postroom.channels.ntfy.channel import answers_topic
from postroom.cli.doctor.checks import look_at_channels, look_at_owner
from postroom.household.channels import (
    account_channel,
    account_kinds,
    address_forms,
    build_channels,
    configured_channels,
    known_channels,
    section_name,
    usable_channels,
)
from postroom.household.delivery import delivery_policy
from postroom.kernel.values.errors import SettingsError
from postroom.kernel.values.principal import Principal, Role
from postroom.message.channel import UNDECLARED, Capabilities, Channel
from postroom.sandbox.accounts import SandboxAddress, played
from postroom.settings import Settings
from postroom.settings.accounts import Surroundings
from postroom.settings.written import SHIPPED
from tests.architecture.tree import ROOT
from tests.contract.cases import of_kind
from tests.household.living import QUICK, Living, living, settings_for
from tests.patience import PATIENCE_SECONDS
from tests.services.ports import free_port
from tests.support.kinds import KINDS


@pytest.mark.requirement("chan:one-list")
@pytest.mark.parametrize("kind", KINDS)
async def test_every_kind_is_made_under_the_accounts_own_name(home: Path, kind: str) -> None:
    case = of_kind(kind)
    settings = settings_for(home, {"channels": {"mine": {"kind": kind, **case.OPTIONS}}})
    channel: Channel = build_channels(settings, None)["mine"]
    await channel.close()

    can, declared = channel.capabilities, KINDS[kind]
    assert channel.name == "mine"
    assert (can.buttons, can.inbound, can.receipt) == (declared.buttons, declared.inbound, declared.receipt)
    assert address_forms(settings)["mine"](case.CASE.address) == channel.address(case.CASE.address) is not None


@pytest.mark.requirement("chan:answers-topic")
def test_a_topic_for_answers_cannot_be_guessed_and_stays(home: Path, tmp_path: Path) -> None:
    here, elsewhere = Surroundings(home=home), Surroundings(home=tmp_path / "elsewhere")
    first, again = answers_topic(here, "push"), answers_topic(here, "push")
    others = {answers_topic(here, "other"), answers_topic(elsewhere, "push")}

    assert first == again and len({first, *others}) == 3
    assert first.removeprefix("postroom-") != first and len(first) == len("postroom-") + 24


@pytest.mark.requirement("chan:account-errors")
def test_what_is_wrong_is_said_under_the_accounts_place_in_the_settings(home: Path) -> None:
    settings = settings_for(
        home, {"telegram": {"token": "1:a"}, "channels": {"bad": {"kind": "telegram", "token": "canary token"}}}
    )
    old, new = settings.accounts

    assert (section_name(old), section_name(new)) == ("telegram", "channels.bad")
    with pytest.raises(SettingsError) as refused:
        account_channel(new, Surroundings(home=home))
    assert str(refused.value) == "channels.bad: the Telegram bot token is malformed."


ASKED_FOR = (
    *("dedupes_for_seconds", "reconciles", "receipt", "formats", "max_units", "unit", "buttons", "edits", "deletes"),
    *("reacts", "replies", "threads", "files", "inbound"),
)


async def channels(household: Living, token: str) -> tuple[int, dict[str, Any]]:
    return await household.api("GET", "/v1/channels", token=token)


@pytest.mark.requirement("house:channels-listed")
async def test_a_person_sees_every_account_with_what_it_can_do(home: Path) -> None:
    async with living(home, QUICK) as household:
        ada = household.tokens.create(Principal(Role.PERSON, "ada"))
        status, answer = await channels(household, ada)
        as_operator = await channels(household, household.token("operator"))

    assert (status, answer["ok"]) == (200, True) and as_operator == (status, answer)
    telegram, email = answer["channels"][:2]
    assert [(one["name"], one["kind"], one["configured"]) for one in (telegram, email)] == [
        ("telegram", "telegram", True),
        ("email", "email", True),
    ]
    assert set(ASKED_FOR) <= telegram["capabilities"].keys()
    assert telegram["capabilities"]["thread_identity"] == "<chat_id>:<message_id>"
    assert telegram["capabilities"]["spacing_seconds"] == 0  # as the household set it
    assert (email["capabilities"]["style"], email["capabilities"]["formats"]) == ("letter", ["plain", "markdown"])
    well = {"circuit": "closed", "reason": None, "retry_after_seconds": None, "throttled_seconds": None}
    assert (telegram["health"], email["health"]) == (well, well)


async def stricken(household: Living) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The health of both, once the answers of their providers are known."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            _, answer = await channels(household, household.token("operator"))
            telegram, email = (one["health"] for one in answer["channels"][:2])
            if telegram["throttled_seconds"] and email["circuit"] != "closed":
                return telegram, email
            await asyncio.sleep(0.02)


@pytest.mark.requirement("house:channels-listed")
async def test_an_open_circuit_and_a_throttle_are_seen(home: Path) -> None:
    broken = {"breaker": {"failure_threshold": 1}, "retry": {"max_attempts": 1}}
    async with living(home, QUICK, broken) as household:
        await household.fault(channel="telegram", times=1, status=429, retry_after=90)
        await household.fault(channel="email", times=9, status=421)
        await household.notify(wait_seconds=0)
        await household.notify(channel="email", wait_seconds=0)
        telegram, email = await stricken(household)

    assert 0 < telegram["throttled_seconds"] <= 90
    assert (email["circuit"], bool(email["reason"]), email["retry_after_seconds"] > 0) == ("open", True, True)


async def test_no_token_of_a_model_or_a_program_sees_them(home: Path) -> None:
    async with living(home, QUICK) as household:
        program = household.tokens.create(Principal(Role.PROGRAM, "ci", person="owner"))
        connector = household.tokens.create(Principal(Role.CONNECTOR, "chatgpt"))
        answers = [await channels(household, one) for one in (household.token("health"), program, connector, "none")]

    assert [status for status, _ in answers] == [403, 403, 403, 401]
    assert not any("channels" in answer for _, answer in answers)


async def test_without_the_messenger_everything_is_known_but_the_health(home: Path) -> None:
    alone = {"telegram": {"token": "123:abcdef"}, "ports": {"messenger": free_port()}}
    async with living(home, alone, only=["api"]) as household:
        _, answer = await household.api("GET", "/v1/channels")

    told = [(one["name"], one["configured"], one["health"]) for one in answer["channels"]]
    assert told == [("telegram", True, None), ("email", False, None)]


BAD_TOKEN = "4242:canary bot token"
MAIL = {"address": "butler@example.org", "password": "canary-mail-password"}
UNUSABLE = [
    pytest.param({"telegram": {"token": BAD_TOKEN}}, "telegram: the Telegram bot token is malformed.", id="token"),
    pytest.param(
        {"telegram": {"token": "4242:abc", "api_base_url": "ftp://x"}},
        "telegram: the Telegram API base URL must be a plain http(s) URL.",
        id="base URL",
    ),
    pytest.param(
        {"email": {**MAIL, "from_address": "a@x.org, b@x.org"}},
        "email: from_address must be a single e-mail address.",
        id="two senders",
    ),
    pytest.param(
        {"email": {**MAIL, "smtp_security": "none", "smtp_host": "mail.example.org"}},
        "email: a login needs starttls or tls unless the mail server is on this machine.",
        id="password in the clear",
    ),
]


@pytest.mark.parametrize(("values", "sentence"), UNUSABLE)
def test_a_household_does_not_start_on_them(home: Path, values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SettingsError) as refused:
        build_channels(Settings.model_validate({"home": home, **values}), None)

    assert str(refused.value) == sentence


@pytest.mark.parametrize(("values", "sentence"), UNUSABLE)
async def test_the_doctor_tells_of_them_among_everything_else(
    home: Path, values: dict[str, Any], sentence: str
) -> None:
    settings = Settings.model_validate({"home": home, **values})

    (found,) = [one for one in await look_at_channels(settings) if not one.ok]

    assert (found.subject, found.detail) == (sentence.partition(":")[0], sentence)
    assert found.advice
    assert look_at_owner(settings) == []


BEEPER = {"channels": {"beeper": {"factory": "beeper_channel:Beeper", "options": {"url": "http://127.0.0.1:9"}}}}
NOWHERE = {"channels": {"pager": {"factory": "nowhere:Pager"}}}


def test_without_a_word_in_the_settings_the_shipped_channels_are_as_they_declare(home: Path) -> None:
    settings = settings_for(home)
    policy = delivery_policy(settings, known_channels(settings))

    assert known_channels(settings) == {name: KINDS[name] for name in SHIPPED}
    assert (policy.timeout_seconds("telegram"), policy.timeout_seconds("email")) == (15.0, 45.0)
    assert {name for name, one in KINDS.items() if one.timeout_seconds is not None} == set(SHIPPED)
    assert [policy.timeout_seconds(name) for name in ("slack", "discord", "ntfy")] == [30.0] * 3
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


SANDBOX = SandboxAddress("127.0.0.1", 9, 10)
ACCOUNTS = {
    "channels": {
        "work": {"kind": "telegram", "token": "1:canary"},
        "letters": {"kind": "email", "address": "us@example.org"},
        "calls": {"kind": "webhook", "url": "https://example.org/hook"},
        "pager": {"factory": "nowhere:Pager"},
    }
}


@pytest.mark.requirement("chan:sandbox-accounts")
async def test_nothing_is_made_with_real_credentials(home: Path) -> None:
    channels = build_channels(settings_for(home, ACCOUNTS, {"sandbox": True}), SANDBOX)
    for channel in channels.values():
        await channel.close()

    assert list(channels) == ["telegram", "email", "work", "letters"]
    assert [one.name for one in channels.values()] == list(channels)
    assert "api_base_url='http://127.0.0.1:9'" in repr(channels["work"])
    assert "127.0.0.1:10" in repr(channels["letters"]) and "example.org" not in repr(channels["letters"])


def test_a_kind_that_it_does_not_play_is_refused() -> None:
    with pytest.raises(ValueError, match="does not play webhook"):
        played("calls", "webhook", SANDBOX)


async def test_in_a_container_that_listens_everywhere_the_phone_is_reached_and_linked_to(home: Path) -> None:
    async with living(home, {"host": "0.0.0.0"}) as household:
        answer = await household.notify(message="Tea is ready")
        url = household.household.addresses["sandbox"]
        async with household.http.get(url) as page:
            shown = await page.text()

    assert answer["delivery"]["status"] == "delivered"
    assert url.startswith("http://127.0.0.1:") and "Tea is ready" in shown
