"""What counts as an address on each shipped channel, without opening it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from postroom.world.channels.apprise.parts import address as apprise_address
from postroom.world.channels.mailbox import mailbox
from postroom.world.channels.telegram import address as telegram_address
from postroom.world.channels.webhook.event import address as webhook_address

ADDRESS_FORMS: Final[Mapping[str, Callable[[str], str | None]]] = {
    "telegram": telegram_address,
    "email": mailbox,
    "webhook": webhook_address,
    "apprise": apprise_address,
}
