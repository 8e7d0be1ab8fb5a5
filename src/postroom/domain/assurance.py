"""How far it is certain who acted, and what was odd about it."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass


class Flag(StrEnum):
    """Marks of a message that never answers."""

    FORWARDED = "forwarded"
    BOT = "bot"
    ANONYMOUS = "anonymous"
    AUTOMATIC = "automatic"  # an absence note, a bounce
    UNVERIFIED = "unverified"  # no proof that the sender is who they say


class Assurance(StrEnum):
    """How far it is certain that this very person acted; in rising order."""

    NONE = "none"
    LOW = "low"  # the sender's address could be forged
    CHANNEL = "channel"  # a verified identity on that channel
    SIGNED_IN = "signed_in"  # a token or a session of the person's own

    @property
    def rank(self) -> int:
        return list(Assurance).index(self)
