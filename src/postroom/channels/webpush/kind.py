"""Web push as the house knows it: what is set of the household's own app, and what it can do."""

from __future__ import annotations

from typing import Final, Literal

from postroom.message.channel import Capabilities
from postroom.settings.accounts import AccountOptions, ChannelKind


class WebPushAccount(AccountOptions):
    """Notifications of the household's own app, on the devices that people switch on in the console."""

    kind: Literal["webpush"]
    """The kind of account."""
    contact: str
    """Whom those who run a push service may write to: `mailto:you@your.domain` or `https://your.domain`."""
    allow_private: bool = False
    """A push service may be on this machine or in a private network, and without TLS."""


WEBPUSH: Final = Capabilities(
    dedupes_for_seconds=86_400.0,  # by the device: our own app shows each delivery once, and remembers which
    max_units=2400,  # of the 4,096 bytes that a push service takes; more is cut, and the page behind it has the rest
    unit="bytes",
    buttons=True,
    most_buttons=2,
    edits=True,
    own_app=True,
    style="letter",
)
KIND: Final = ChannelKind(
    title="the app on the phone (web push)",
    guide="phone-app.md",
    options=WebPushAccount,
    capabilities=WEBPUSH,
    channel="postroom.channels.webpush.channel:WebPush",
)
