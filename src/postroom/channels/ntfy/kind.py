"""ntfy as the house knows it: what is set of a server, and what it can do."""

from __future__ import annotations

from typing import Final, Literal

from postroom.kernel.running.process import Secret, SecretUrl
from postroom.message.channel import Capabilities
from postroom.settings.accounts import AccountOptions, ChannelKind


class NtfyAccount(AccountOptions):
    """A server of ntfy."""

    kind: Literal["ntfy"]
    """The kind of account."""
    url: SecretUrl = SecretUrl("https://ntfy.sh")
    """The server."""
    token: Secret = Secret("")
    """An access token of the server; empty: none."""
    answers_topic: Secret = Secret("")
    """The topic buttons answer to; empty: one that only this household knows."""


NTFY: Final = Capabilities(
    reconciles=True,
    max_units=4095,  # the server takes the 4,096th byte for the sign of a file
    unit="bytes",
    buttons=True,
    most_buttons=3,
    edits=True,
    deletes=True,
    files=True,
    most_files=10,
    most_file_bytes=15 * 1_024 * 1_024,  # of a server as it is shipped; ntfy.sh takes 2 MB and says so
    inbound=True,
    style="letter",
)
"""With a topic for answers; without one nothing is heard, and a button can only open a link."""
KIND: Final = ChannelKind(
    title="ntfy",
    guide="channels.md#ntfy",
    options=NtfyAccount,
    capabilities=NTFY,
    channel="postroom.channels.ntfy.channel:Ntfy",
)
