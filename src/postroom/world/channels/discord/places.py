"""What counts as an address on Discord: a channel's number, or `user:` and a person's number."""

from __future__ import annotations

import re
from typing import Final

USER: Final = "user:"
_SNOWFLAKE = re.compile(r"[0-9]{1,20}")
_LARGEST: Final = 2**64 - 1
_EPOCH_MS: Final = 1_420_070_400_000  # Discord counts from the beginning of 2015


def address(text: str) -> str | None:
    """A channel id or `user:ID`; the same place has one spelling."""
    text = text.strip(" ")
    named, _, number = text.rpartition(":")
    if named.lower() + ":" == USER:
        return f"{USER}{plain}" if (plain := snowflake(number)) else None
    return snowflake(text)


def snowflake(text: object) -> str | None:
    if not isinstance(text, str) or not _SNOWFLAKE.fullmatch(text) or not 0 < int(text) <= _LARGEST:
        return None
    return str(int(text))


def made_at_us(number: str) -> int:
    """Every number of Discord's tells when it was given."""
    return ((int(number) >> 22) + _EPOCH_MS) * 1_000
