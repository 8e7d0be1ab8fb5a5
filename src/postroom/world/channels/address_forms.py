"""What counts as an address on each shipped kind of channel, without opening it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from postroom.world.channels.apprise.parts import address as apprise_address
from postroom.world.channels.discord.places import address as discord_address
from postroom.world.channels.mailbox import mailbox
from postroom.world.channels.ntfy.publish import address as ntfy_address
from postroom.world.channels.slack.address import address as slack_address
from postroom.world.channels.telegram import address as telegram_address
from postroom.world.channels.webhook.event import address as webhook_address
from postroom.world.channels.webpush.notification import address as webpush_address

ADDRESS_FORMS: Final[Mapping[str, Callable[[str], str | None]]] = {
    "telegram": telegram_address,
    "email": mailbox,
    "slack": slack_address,
    "discord": discord_address,
    "ntfy": ntfy_address,
    "webhook": webhook_address,
    "webpush": webpush_address,
    "apprise": apprise_address,
}
