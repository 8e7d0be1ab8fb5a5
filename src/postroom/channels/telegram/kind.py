"""Telegram as the house knows it: what is set of a bot, and what it can do."""

from __future__ import annotations

from typing import Final, Literal

from postroom.butlers.modules import BotScope, ChannelModule
from postroom.kernel.running.process import Secret
from postroom.message.channel import Capabilities, ThreadIdentity
from postroom.settings.accounts import AccountOptions, ChannelKind


class TelegramSettings(AccountOptions):
    """The bot."""

    api_base_url: str = "https://api.telegram.org"
    """Where the Bot API is: a server of your own, or Telegram's."""
    token: Secret = Secret("")
    """The bot's token; in `secrets.toml` or BUTLER_TELEGRAM_TOKEN."""

    @property
    def is_set(self) -> bool:
        return bool(self.token)

    @property
    def clock(self) -> tuple[str, str] | None:
        return "the Bot API", self.api_base_url


class TelegramAccount(AccountOptions):
    """A bot."""

    kind: Literal["telegram"]
    """The kind of account."""
    token: Secret
    """The bot's token, as @BotFather gave it."""
    api_base_url: str = "https://api.telegram.org"
    """Where the Bot API is: a server of your own, or Telegram's."""


class TelegramBot(BotScope):
    enabled: bool = True
    """Off: the messenger does not send over Telegram."""
    token_env: str = "BUTLER_TELEGRAM_TOKEN"  # noqa: S105  # the name of a variable
    """The variable that holds the bot's token."""


class TelegramModule(ChannelModule):
    bot: TelegramBot = TelegramBot()


TELEGRAM: Final = Capabilities(
    formats=("plain", "markdown"),
    max_units=4096,
    unit="utf16",
    buttons=True,
    edits=True,
    deletes=True,
    reacts=True,
    replies=True,
    files=True,
    most_files=10,
    most_file_bytes=50_000_000,
    inbound=True,
    thread_identity=ThreadIdentity(place=r"-?\d{1,20}|@\w{1,64}", id=r"\d{1,20}", words="<chat_id>:<message_id>"),
    timeout_seconds=15.0,
    spacing_seconds=1.0,
    bot_per_minute=30,
    user_per_minute=20,
)
KIND: Final = ChannelKind(
    title="Telegram",
    guide="channels.md#telegram",
    options=TelegramAccount,
    capabilities=TELEGRAM,
    channel="postroom.channels.telegram.channel:Telegram",
    section=TelegramSettings,
    module=TelegramModule,
    credentials="BUTLER_TELEGRAM_TOKEN, as @BotFather gave it",
)
