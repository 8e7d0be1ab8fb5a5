"""One account of the settings, as the channel it is."""

from __future__ import annotations

import hmac
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

from postroom.app.household_key import household_key
from postroom.app.mail_grants import grant_file, mail_provider
from postroom.app.own_channel import own_channel
from postroom.domain.file_contents import FileContents
from postroom.domain.ports import Channel
from postroom.domain.push_device import PushDevices
from postroom.domain.settings_error import SettingsError
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
    WebPushAccount,
)
from postroom.world.channels.discord.channel import Discord
from postroom.world.channels.email import Email
from postroom.world.channels.mail_listening.account import ImapAccount
from postroom.world.channels.mail_oauth.access import MailAccess
from postroom.world.channels.mailbox import mailbox
from postroom.world.channels.ntfy.channel import Ntfy
from postroom.world.channels.slack.channel import Slack
from postroom.world.channels.telegram import Telegram

if TYPE_CHECKING:
    from postroom.world.channels.webpush.vapid import PushIdentity


def account_channel(
    account: Account, home: Path, files: FileContents | None = None, devices: PushDevices | None = None
) -> Channel:
    """Raises SettingsError for credentials that cannot be any; its sentence never repeats them."""
    try:
        return _made(account, home, files, devices)
    except ValueError as error:
        raise SettingsError(f"{section_name(account)}: {error}.") from None


def section_name(account: Account) -> str:
    """Where in the settings it stands."""
    return account.name if isinstance(account.options, TelegramSettings | EmailSettings) else f"channels.{account.name}"


def answers_topic(home: Path, name: str) -> str:
    """A topic is open to all who know it: this one cannot be guessed, and stays the same."""
    key = household_key(home, "answers topic")
    return f"postroom-{hmac.digest(key, name.encode(), 'sha256').hex()[:24]}"


def push_identity(home: Path, name: str, contact: str) -> PushIdentity:
    """Made from the household's own key, so that it stays the same, is known to every process and stands nowhere."""
    from postroom.world.channels.webpush.vapid import identity

    return identity(contact, hmac.digest(household_key(home, "web push"), name.encode(), "sha256"))


def _made(account: Account, home: Path, files: FileContents | None, devices: PushDevices | None) -> Channel:
    """What the sandbox does not play is imported where an account is one: most households have none of these."""
    name, options = account.name, account.options
    match options:
        case ChannelSettings():
            return own_channel(name, options, files)
        case TelegramSettings() | TelegramAccount():
            return Telegram(options.token.reveal(), options.api_base_url, name=name, files=files)
        case EmailSettings() | EmailAccount():
            return _email(name, options, home, files)
        case NtfyAccount():
            topic = options.answers_topic.reveal() or answers_topic(home, name)
            return Ntfy(name, options.url.reveal(), options.token.reveal(), topic, files=files)
        case SlackAccount():
            bot, app = options.bot_token.reveal(), options.app_token.reveal()
            return Slack(name, bot, app, options.api_base_url, files=files)
        case DiscordAccount():
            token, words = options.bot_token.reveal(), options.message_content
            return Discord(name, token, options.api_base_url, message_content=words, files=files)
        case WebhookAccount():
            from postroom.world.channels.webhook.channel import Webhook

            return Webhook(name, options.url.reveal(), options.secret.reveal(), options.allow_private, files=files)
        case WebPushAccount():
            from postroom.world.channels.webpush.channel import WebPush

            who = push_identity(home, name, options.contact)
            return WebPush(name, who, devices, allow_private=options.allow_private)
        case AppriseAccount():
            from postroom.world.channels.apprise.channel import AppriseService

            return AppriseService(name, options.url.reveal(), options.allow_private)
        case _:
            assert_never(options)


def mail_access(name: str, options: EmailSettings | EmailAccount, home: Path) -> MailAccess | None:
    """None where the mailbox has a password."""
    return MailAccess(grant_file(name, home), mail_provider(options), name) if options.by_token else None


def _email(name: str, options: EmailSettings | EmailAccount, home: Path, files: FileContents | None) -> Email:
    if isinstance(options, EmailAccount) and mailbox(options.address) is None:
        raise ValueError("address must be a single e-mail address")
    access = mail_access(name, options, home)
    return Email(
        options.smtp_host,
        options.smtp_port,
        options.security,
        options.login or None,
        None if access else options.password.reveal() or None,
        options.sender,
        name=name,
        imap=_imap(options, access),
        access=access,
        key=reports_key(home),
        files=files,
    )


def reports_key(home: Path) -> bytes:
    """Marks the household's mails, so that a report about one is known to be about it."""
    return household_key(home, "mail that comes back")


def _imap(options: EmailSettings | EmailAccount, access: MailAccess | None) -> ImapAccount | None:
    if not options.imap_host:
        return None
    return ImapAccount(
        host=options.imap_host,
        port=options.imap_port,
        tls=options.imap_tls,
        user=options.address,
        password=options.password.reveal(),
        authserv_id=options.authserv_id,
        reply_tags=options.reply_tags,
        access=access,
    )
