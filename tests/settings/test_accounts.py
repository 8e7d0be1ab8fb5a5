"""Named accounts: what each kind is made of, where its secrets come from, and one sentence for every mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from postroom.channels.apprise.kind import AppriseAccount
from postroom.channels.discord.kind import DiscordAccount
from postroom.channels.email.kind import EmailAccount
from postroom.channels.ntfy.kind import NtfyAccount
from postroom.channels.slack.kind import SlackAccount
from postroom.channels.telegram.kind import TelegramAccount
from postroom.channels.webhook.kind import WebhookAccount
from postroom.channels.webpush.kind import WebPushAccount
from postroom.kernel.values.errors import SettingsError
from postroom.message.wishes import RESERVED_NAMES
from postroom.settings import Settings
from postroom.settings.accounts import ChannelSettings, kind_names
from postroom.settings.load import load

EVERY_KIND = """
[channels.work]
kind = "telegram"
token = "1:${WORK_BOT}"
api_base_url = "http://127.0.0.1:8081"

[channels.letters]
kind = "email"
address = "us@example.org"
password = "${MAIL_PASSWORD}"
smtp_host = "mail.example.org"
smtp_port = 465
smtp_tls = "tls"
imap_host = "imap.example.org"
imap_port = 143
imap_tls = "starttls"
authserv_id = "mx.example.org"

[channels.push]
kind = "ntfy"
url = "https://ntfy.example.org"
token = "tk_1"
answers_topic = "answers"

[channels.slack-work]
kind = "slack"
bot_token = "${SLACK_TOKEN}"
app_token = "xapp-1"
api_base_url = "http://127.0.0.1:9/api"

[channels.guild]
kind = "discord"
bot_token = "d.1"
api_base_url = "http://127.0.0.1:9/api/v10"

[channels.calls]
kind = "webhook"
url = "https://example.org/${PLACE}"
secret = "whsec_MQ=="
allow_private = true

[channels.devices]
kind = "webpush"
contact = "mailto:us@example.org"

[channels.other]
kind = "apprise"
url = "json://example.org"

[channels.pager]
factory = "pagers:Pager"
[channels.pager.options]
code = "${PLACE}"
"""
KINDS = ", ".join(kind_names())
ENVIRONMENT = {"WORK_BOT": "abc", "MAIL_PASSWORD": "canary", "SLACK_TOKEN": "xoxb-1", "PLACE": "here"}


def written(home: Path, text: str, environment: dict[str, str] | None = None) -> Settings:
    (home / "postroom.toml").write_text(text, encoding="utf-8")
    return load({"POSTROOM_HOME": str(home), **(environment or {})})[0]


def complaint(home: Path, text: str, environment: dict[str, str] | None = None) -> str:
    with pytest.raises(SettingsError) as caught:
        written(home, text, environment)
    return str(caught.value).removeprefix(f"{home / 'postroom.toml'}: ")


@pytest.mark.requirement("chan:one-list")
@pytest.mark.requirement("chan:secrets-by-variable")
def test_every_kind_has_its_own_keys_beside_its_kind(tmp_path: Path) -> None:
    settings = written(tmp_path, EVERY_KIND, ENVIRONMENT)
    bot, letters, push, slack, guild, calls, devices, other, pager = (one.options for one in settings.accounts)

    assert [one.kind for one in settings.accounts][-2:] == ["apprise", "factory"]
    assert isinstance(bot, TelegramAccount) and bot.token.reveal() == "1:abc"
    assert isinstance(letters, EmailAccount) and letters.password.reveal() == "canary"
    assert (letters.security, letters.sender, letters.login) == ("tls", "us@example.org", "us@example.org")
    assert (letters.imap_host, letters.imap_port, letters.imap_tls) == ("imap.example.org", 143, "starttls")
    assert isinstance(push, NtfyAccount) and push.answers_topic.reveal() == "answers"
    assert isinstance(slack, SlackAccount) and slack.bot_token.reveal() == "xoxb-1"
    assert isinstance(guild, DiscordAccount) and guild.bot_token.reveal() == "d.1"
    assert isinstance(calls, WebhookAccount) and calls.url.reveal() == "https://example.org/here"
    assert calls.allow_private
    assert isinstance(devices, WebPushAccount) and devices.contact == "mailto:us@example.org"
    assert isinstance(other, AppriseAccount) and not other.allow_private
    assert isinstance(pager, ChannelSettings) and pager.options["code"].reveal() == "here"
    assert not settings.in_sandbox


@pytest.mark.requirement("chan:secrets-by-variable")
def test_a_variable_that_is_not_set_is_named_with_its_key_and_nothing_else_is(tmp_path: Path) -> None:
    given = {**ENVIRONMENT, "SLACK_TOKEN": ""}
    del given["MAIL_PASSWORD"]

    told = complaint(tmp_path, EVERY_KIND, given)

    assert told.splitlines() == [
        "channels.letters.password: the variable MAIL_PASSWORD is not set; set it in the environment.",
        f"{tmp_path / 'postroom.toml'}: channels.slack-work.bot_token: "
        "the variable SLACK_TOKEN is not set; set it in the environment.",
    ]


@pytest.mark.requirement("chan:account-errors")
@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        pytest.param(
            'kind = "slak"\nbot_token = "canary"',
            f"channels.x.kind: there is no such kind, did you mean 'slack'? There are {KINDS}.",
            id="kind",
        ),
        pytest.param(
            "kind = 3",
            f"channels.x.kind: there is no such kind. There are {KINDS}.",
            id="kind of another type",
        ),
        pytest.param(
            'kind = "slack"\nbot_tokn = "canary"\nbot_token = "canary"',
            "unknown key 'channels.x.bot_tokn', did you mean 'bot_token'?",
            id="key",
        ),
        pytest.param(
            'kind = "telegram"\ntoken = "canary"\nfactory = "a:b"', "unknown key 'channels.x.factory'.", id="both forms"
        ),
        pytest.param('kind = "discord"', "channels.x.bot_token: is required.", id="no secret"),
        pytest.param('kind = "discord"\nbot_token = 4', "channels.x.bot_token: must be a string.", id="not a text"),
        pytest.param(
            'kind = "email"\naddress = "a@x.org"\nsmtp_tls = "ssl"',
            "channels.x.smtp_tls: must be one of starttls, tls or none.",
            id="choice",
        ),
        pytest.param(
            'bot_token = "canary"',
            f"channels.x.kind: is required, one of {KINDS}; or a factory of your own.",
            id="neither form",
        ),
        pytest.param(
            'factory = "a:b"\noption = 1', "unknown key 'channels.x.option', did you mean 'options'?", id="own form"
        ),
    ],
)
def test_a_mistake_gets_one_sentence_without_the_secret(tmp_path: Path, table: str, sentence: str) -> None:
    told = complaint(tmp_path, f"[channels.x]\n{table}\n")

    assert told == sentence
    assert "canary" not in told


@pytest.mark.requirement("chan:account-errors")
@pytest.mark.parametrize("name", sorted(RESERVED_NAMES))
def test_an_account_cannot_have_a_name_that_means_something_else(tmp_path: Path, name: str) -> None:
    told = complaint(tmp_path, f'[channels.{name}]\nkind = "telegram"\ntoken = "1:a"\n')

    assert told == f"channels.{name}: cannot be the name of an account."


@pytest.mark.requirement("chan:old-sections")
def test_an_account_may_be_called_by_its_kind_while_the_section_of_old_is_unset(tmp_path: Path) -> None:
    settings = written(tmp_path, '[channels.telegram]\nkind = "telegram"\ntoken = "1:a"\n')

    assert [(one.name, one.kind) for one in settings.accounts] == [("telegram", "telegram")]


@pytest.mark.requirement("chan:old-sections")
@pytest.mark.parametrize(
    ("text", "environment", "sentence"),
    [
        (
            '[channels.email]\nkind = "telegram"\ntoken = "1:a"\n',
            {},
            'channels.email: cannot be replaced: an account of this name has kind = "email".',
        ),
        (
            '[channels.email]\nfactory = "a:b"\n',
            {},
            'channels.email: cannot be replaced: an account of this name has kind = "email".',
        ),
        (
            '[channels.telegram]\nkind = "telegram"\ntoken = "1:a"\n[telegram]\napi_base_url = "http://x"\n',
            {},
            "channels.telegram: [telegram] is set as well, and there can be only one of them.",
        ),
        (
            '[channels.telegram]\nkind = "telegram"\ntoken = "1:a"\n',
            {"BUTLER_TELEGRAM_TOKEN": "2:b"},
            "channels.telegram: [telegram] is set as well, and there can be only one of them.",
        ),
    ],
)
def test_the_accounts_of_old_are_neither_replaced_nor_doubled(
    tmp_path: Path, text: str, environment: dict[str, str], sentence: str
) -> None:
    assert complaint(tmp_path, text, environment) == sentence


@pytest.mark.requirement("chan:old-sections")
def test_the_variables_of_old_are_the_accounts_telegram_and_email(tmp_path: Path) -> None:
    variables = {"BUTLER_TELEGRAM_TOKEN": "1:a", "BUTLER_EMAIL_ADDRESS": "us@example.org"}
    settings = written(tmp_path, "[email]\nimap_host = 'imap.example.org'\n", variables)

    assert [(one.name, one.kind) for one in settings.accounts] == [("telegram", "telegram"), ("email", "email")]
    assert (settings.email.imap_host, settings.email.imap_port) == ("imap.example.org", 993)
    assert (settings.email.imap_tls, settings.email.authserv_id) == ("tls", "")


@pytest.mark.requirement("chan:one-list")
def test_cards_about_waiting_messages_may_go_to_any_account(tmp_path: Path) -> None:
    account = '[channels.work]\nkind = "telegram"\ntoken = "1:a"\n'

    assert written(tmp_path, f'{account}[approvals]\nask_channel = "work"\n').approvals.ask_channel == "work"
    assert complaint(tmp_path, f'{account}[approvals]\nask_channel = "wrok"\n') == (
        "approvals.ask_channel: there is no such account, did you mean 'work'? There are email, telegram, work."
    )
