"""What counts as an address on each shipped kind of channel, without opening it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from postroom.channels.apprise.building import address as apprise_address
from postroom.channels.discord.building import address as discord_address
from postroom.channels.email.building import mailbox
from postroom.channels.ntfy.building import address as ntfy_address
from postroom.channels.slack.web_api import address as slack_address
from postroom.channels.telegram.channel import address as telegram_address
from postroom.channels.webhook.channel import address as webhook_address


def _webpush_address(text: str) -> str | None:
    from postroom.channels.webpush.channel import address  # and what is encrypted for a browser with

    return address(text)


ADDRESS_FORMS: Final[Mapping[str, Callable[[str], str | None]]] = {
    "telegram": telegram_address,
    "email": mailbox,
    "slack": slack_address,
    "discord": discord_address,
    "ntfy": ntfy_address,
    "webhook": webhook_address,
    "webpush": _webpush_address,
    "apprise": apprise_address,
}
