"""What a scenario must know about each channel: whom to write to, and how its messages come apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from chaos.tokens import PART_CHARACTERS


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """
    `address` is made of a number; two paragraphs of `part_characters` are two parts, unless all is one.

    `asks`: it can be asked whether a message arrived. `drops`: it takes a second call with the same key for the first.
    """

    address: str
    part_characters: int = PART_CHARACTERS
    one_part: bool = False
    asks: bool = False
    drops: bool = False


ROUTES: Final = {
    "telegram": Route(address="5{:03}"),
    "email": Route(address="person{}@example.org", one_part=True),
    "slack": Route(address="C5{:03}", part_characters=2_000, asks=True),
    "ntfy": Route(address="topic{}", asks=True),
    "discord": Route(address="5{:03}", part_characters=1_200, drops=True),
    "webhook": Route(address="person{}", one_part=True, drops=True),
}
CERTAIN: Final = [name for name, route in ROUTES.items() if route.asks or route.drops]
"""Where a second copy can be ruled out."""
