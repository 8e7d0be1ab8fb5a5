"""Addresses of agents: agent:// and one to three names."""

from __future__ import annotations

import hashlib
import re
from typing import Final

SCHEME: Final = "agent://"
HOUSEHOLD_PREFIX: Final = "agent://household/"
HOUSEHOLD_OWNER: Final = "agent://household/owner"
BUTLER_PREFIX: Final = "agent://butler/"
CONTACT_PREFIX: Final = "agent://contact/"
USER_PREFIX: Final = "agent://user/"

_NAME = r"[a-z0-9](?:[a-z0-9._-]{0,61}[a-z0-9])?"
_ADDRESS = re.compile(rf"agent://{_NAME}(?:/{_NAME}){{0,2}}")
_USER_NAME = re.compile(_NAME)
_NOT_A_NAME = re.compile(r"[^a-z0-9._-]+")
_READABLE_CHARACTERS = 40
_MARK_CHARACTERS = 16


def parse_address(text: str) -> str | None:
    """The address as it is kept, or None when it is not one."""
    candidate = text.strip().lower()
    return candidate if _ADDRESS.fullmatch(candidate) else None


def butler_name(address: str) -> str | None:
    return address.removeprefix(BUTLER_PREFIX) if address.startswith(BUTLER_PREFIX) else None


def is_of_people(address: str) -> bool:
    """Whether the address is of a kind that only people have."""
    return address.startswith((HOUSEHOLD_PREFIX, USER_PREFIX, CONTACT_PREFIX))


def user_address(user_id: str) -> str:
    """A user's own address; an id that cannot stand in one as it is gets a mark that tells it from all others."""
    if _USER_NAME.fullmatch(user_id):
        return USER_PREFIX + user_id
    readable = _NOT_A_NAME.sub("-", user_id.lower()).strip("._-")[:_READABLE_CHARACTERS]
    mark = hashlib.sha256(user_id.encode("utf-8", "surrogatepass")).hexdigest()[:_MARK_CHARACTERS]
    return f"{USER_PREFIX}{readable}-{mark}" if readable else USER_PREFIX + mark
