"""A link that a person asks for, or that the owner has sent to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from postroom.domain.console_session import SignInWay
from postroom.domain.principal import Principal

SIGN_IN_ORIGIN: Final = "console.sign-in"  # no butler's name has a dot
MOST_OPEN: Final = 3  # of one person
MOST_OF_PERSON: Final = 5  # within an hour
MOST_OF_SENDER: Final = 20  # within an hour, whomever they name


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkWish:
    """Whom it signs in, and where it is sent."""

    person_id: str
    principal: Principal
    token_ids: tuple[str, ...]
    channel: str
    address: str
    way: SignInWay
