"""One account of the settings, as the channel it is."""

from __future__ import annotations

import hmac
from importlib import import_module
from pathlib import Path
from typing import Any, assert_never

from postroom.app.household_key import household_key
from postroom.app.own_channel import own_channel
from postroom.domain.ports import Channel
from postroom.system.settings import SettingsError
from postroom.system.settings.accounts import (
    Account,
    AppriseAccount,
    ChannelSettings,
    DiscordAccount,
    EmailAccount,
    EmailSettings,
    NtfyAccount,
    SlackAccount,
    TelegramAccount,
    TelegramSettings,
    WebhookAccount,
)
from postroom.world.channels.email import Email
from postroom.world.channels.mail_listening.account import ImapAccount
from postroom.world.channels.mailbox import mailbox
from postroom.world.channels.telegram import Telegram


def account_channel(account: Account, home: Path) -> Channel:
    """Raises SettingsError for credentials that cannot be any; its sentence never repeats them."""
    try:
        return _made(account, home)
    except ValueError as error:
        raise SettingsError(f"{section_name(account)}: {error}.") from None


def section_name(account: Account) -> str:
    """Where in the settings it stands."""
    return account.name if isinstance(account.options, TelegramSettings | EmailSettings) else f"channels.{account.name}"


def service(kind: str, made_by: str, **options: Any) -> Channel:
    """The kinds beside Telegram and mail are imported when there is an account of theirs."""
    try:
        module = import_module(f"postroom.world.channels.{kind}.channel")
    except ModuleNotFoundError as error:
        raise ValueError(f"kind {kind} needs the module {error.name}, which is not installed") from None
    channel: Channel = getattr(module, made_by)(**options)
    return channel


def answers_topic(home: Path, name: str) -> str:
    """A topic is open to all who know it: this one cannot be guessed, and stays the same."""
    key = household_key(home, "answers topic")
    return f"postroom-{hmac.digest(key, name.encode(), 'sha256').hex()[:24]}"


def _made(account: Account, home: Path) -> Channel:
    name, options = account.name, account.options
    match options:
        case ChannelSettings():
            return own_channel(name, options)
        case TelegramSettings() | TelegramAccount():
            return Telegram(options.token.reveal(), options.api_base_url, name=name)
        case EmailSettings() | EmailAccount():
            return _email(name, options)
        case NtfyAccount():
            topic = options.answers_topic.reveal() or answers_topic(home, name)
            return service(
                "ntfy",
                "Ntfy",
                name=name,
                url=options.url.reveal(),
                token=options.token.reveal(),
                answers_topic=topic,
            )
        case SlackAccount():
            tokens = {"bot_token": options.bot_token.reveal(), "app_token": options.app_token.reveal()}
            return service("slack", "Slack", name=name, **tokens, api_base_url=options.api_base_url)
        case DiscordAccount():
            token, url, words = options.bot_token.reveal(), options.api_base_url, options.message_content
            return service("discord", "Discord", name=name, bot_token=token, api_base_url=url, message_content=words)
        case WebhookAccount():
            url, secret, private = options.url.reveal(), options.secret.reveal(), options.allow_private
            return service("webhook", "Webhook", name=name, url=url, secret=secret, allow_private=private)
        case AppriseAccount():
            url, private = options.url.reveal(), options.allow_private
            return service("apprise", "AppriseService", name=name, url=url, allow_private=private)
        case _:
            assert_never(options)


def _email(name: str, options: EmailSettings | EmailAccount) -> Email:
    if isinstance(options, EmailAccount) and mailbox(options.address) is None:
        raise ValueError("address must be a single e-mail address")
    return Email(
        options.smtp_host,
        options.smtp_port,
        options.security,
        options.login or None,
        options.password.reveal() or None,
        options.sender,
        name=name,
        imap=_imap(options),
    )


def _imap(options: EmailSettings | EmailAccount) -> ImapAccount | None:
    if not options.imap_host:
        return None
    return ImapAccount(
        host=options.imap_host,
        port=options.imap_port,
        tls=options.imap_tls,
        user=options.address,
        password=options.password.reveal(),
        authserv_id=options.authserv_id,
    )
