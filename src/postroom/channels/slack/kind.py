"""Slack as the house knows it: what is set of an app in a workspace, and what it can do."""

from __future__ import annotations

from typing import Final, Literal

from postroom.kernel.running.process import Secret
from postroom.message.channel import Capabilities, ThreadIdentity
from postroom.settings.accounts import AccountOptions, ChannelKind


class SlackAccount(AccountOptions):
    """An app in a workspace of Slack."""

    kind: Literal["slack"]
    """The kind of account."""
    bot_token: Secret
    """The bot's token (`xoxb-…`)."""
    app_token: Secret = Secret("")
    """The app's token (`xapp-…`), with which answers are heard; empty: they are not."""
    api_base_url: str = "https://slack.com/api"
    """Where Slack's API is."""

    @property
    def hears(self) -> bool:
        return bool(self.app_token)


SLACK: Final = Capabilities(
    formats=("plain", "markdown"),
    reconciles=True,
    max_units=3000,
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
    most_file_bytes=100_000_000,  # Slack itself takes a gigabyte; this is held in memory while it is sent
    inbound=True,
    thread_identity=ThreadIdentity(
        place=r"[CDGUW][A-Z0-9]{1,30}",
        id=r"\d{1,12}\.\d{1,6}",
        words="<channel>:<ts>",
    ),
    spacing_seconds=1.0,
)
"""With an app token; without one nothing is heard."""
KIND: Final = ChannelKind(
    title="Slack",
    guide="channels.md#slack",
    options=SlackAccount,
    capabilities=SLACK,
    channel="postroom.channels.slack.channel:Slack",
)
