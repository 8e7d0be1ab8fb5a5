"""Apprise as the house knows it: what is set of a service, and what it can do."""

from __future__ import annotations

from typing import Final, Literal

from postroom.kernel.running.process import Secret
from postroom.message.channel import Capabilities
from postroom.settings.accounts import AccountOptions, ChannelKind


class AppriseAccount(AccountOptions):
    """Any other service, by way of Apprise."""

    kind: Literal["apprise"]
    """The kind of account."""
    url: Secret
    """The service, as Apprise writes it."""
    allow_private: bool = False
    """The address may be one of this machine or of a private network."""


APPRISE: Final = Capabilities(receipt=False)
KIND: Final = ChannelKind(
    title="any other service (Apprise)",
    guide="channels.md#any-other-service-with-apprise",
    options=AppriseAccount,
    capabilities=APPRISE,
    channel="postroom.channels.apprise.channel:AppriseService",
)
