"""What counts as an address on each shipped channel, without opening it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from postroom.world.channels.discord.places import address as discord_address
from postroom.world.channels.mailbox import mailbox
from postroom.world.channels.telegram import address as telegram_address

ADDRESS_FORMS: Final[Mapping[str, Callable[[str], str | None]]] = {
    "telegram": telegram_address,
    "email": mailbox,
    "discord": discord_address,
}
