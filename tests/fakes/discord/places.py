"""
Channels and people of the sandbox's Discord.

Every number is a channel of one server, and every number is a person; each person has a direct channel with the bot.
A number that is one of Discord's error codes answers with that error, so that each can be met.
"""

from __future__ import annotations

import re
from typing import Final

BOT_ID: Final = "900000000000000001"
SERVER_ID: Final = "900000000000000002"
SOMEBODY: Final = "1"
_DIRECT: Final = 7_000_000_000_000_000_000
_PEOPLE: Final = 2_000_000_000_000_000_000
_EPOCH_MS: Final = 1_420_070_400_000
_NUMBER = re.compile(r"[1-9][0-9]{0,18}")


def is_number(text: object) -> bool:
    return isinstance(text, str) and bool(_NUMBER.fullmatch(text))


def direct_channel(person: str) -> str:
    return str(_DIRECT + int(person))


def person_in(channel_id: str) -> str | None:
    """With whom a direct channel is."""
    number = int(channel_id) - _DIRECT
    return str(number) if 0 < number < _PEOPLE else None


def channel_of(place: str) -> str:
    """A channel's number, or `user:` and a person's."""
    person = place.removeprefix("user:")
    return place if person == place else direct_channel(person)


def snowflake(now_us: int, number: int) -> str:
    return str(((now_us // 1_000 - _EPOCH_MS) << 22) | (number & 0x3FFFFF))
