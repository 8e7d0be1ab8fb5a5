"""A webhook as the house knows it: what is set of a server, and what it can do."""

from __future__ import annotations

from typing import Final, Literal

from postroom.kernel.running.process import Secret
from postroom.message.channel import Capabilities
from postroom.settings.accounts import AccountOptions, ChannelKind


class WebhookAccount(AccountOptions):
    """A server that takes messages as Standard Webhooks."""

    kind: Literal["webhook"]
    """The kind of account."""
    url: Secret
    """Where messages are posted."""
    secret: Secret = Secret("")
    """What they are signed with (`whsec_…`); empty: they are not."""
    allow_private: bool = False
    """The address may be one of this machine or of a private network."""


WEBHOOK: Final = Capabilities(
    formats=("plain", "markdown"),
    dedupes_for_seconds=86_400.0,  # what we ask of whoever receives them; docs/how-to/channels.md
    edits=True,
    deletes=True,
    reacts=True,
    replies=True,
    files=True,
    most_files=10,
    most_file_bytes=256 * 1_024,
    most_files_bytes=1_024 * 1_024,
)
KIND: Final = ChannelKind(
    title="webhook",
    guide="channels.md#webhook",
    options=WebhookAccount,
    capabilities=WEBHOOK,
    channel="postroom.channels.webhook.channel:Webhook",
)
