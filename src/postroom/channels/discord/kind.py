"""Discord as the house knows it: what is set of a bot, and what it can do."""

from __future__ import annotations

from typing import Final, Literal

from postroom.kernel.running.process import Secret
from postroom.message.channel import Capabilities, ThreadIdentity
from postroom.settings.accounts import AccountOptions, ChannelKind


class DiscordAccount(AccountOptions):
    """A bot of Discord."""

    kind: Literal["discord"]
    """The kind of account."""
    bot_token: Secret
    """The bot's token."""
    api_base_url: str = "https://discord.com/api/v10"
    """Where Discord's API is."""
    message_content: bool = False
    """Ask for the words of every message in servers, too; Discord grants it in the bot's settings."""


DISCORD: Final = Capabilities(
    formats=("plain", "markdown"),
    dedupes_for_seconds=120.0,  # "the past few minutes", says Discord; two of them is the careful reading
    max_units=2000,
    unit="utf16",
    buttons=True,
    most_buttons=25,
    edits=True,
    deletes=True,
    reacts=True,
    replies=True,
    threads=True,
    files=True,
    most_files=10,
    most_file_bytes=10 * 1_024 * 1_024,
    most_files_bytes=24 * 1_024 * 1_024,  # a request has at most 25, with the message
    inbound=True,
    thread_identity=ThreadIdentity(place=r"\d{1,20}|user:\d{1,20}", id=r"\d{1,20}", words="<channel_id>:<message_id>"),
    spacing_seconds=1.0,
    bot_per_minute=30,
    user_per_minute=20,
)
KIND: Final = ChannelKind(
    title="Discord",
    guide="channels.md#discord",
    options=DiscordAccount,
    capabilities=DISCORD,
    channel="postroom.channels.discord.channel:Discord",
)
