"""The one workspace the sandbox plays: who the app is, which places there are, and which of them refuse it."""

from __future__ import annotations

import re
from typing import Final

TEAM_ID: Final = "T0SANDBOX"
APP_ID: Final = "A0SANDBOX"
BOT_ID: Final = "B0SANDBOX"
BOT_USER: Final = "U0POSTROOM"
BOT_NAME: Final = "postroom"

REFUSING: Final = {
    "CARCHIVED": "is_archived",
    "CNOTIN": "not_in_channel",
    "CUNKNOWN": "channel_not_found",
    "DUNKNOWN": "channel_not_found",
    "UUNKNOWN": "channel_not_found",
    "UNODM": "messages_tab_disabled",
}
"""Places that only exist to be refused."""

_CONVERSATION = re.compile(r"[CDG][A-Z0-9]{1,30}", re.ASCII)
_USER = re.compile(r"[UW][A-Z0-9]{1,30}", re.ASCII)


class SlackError(Exception):
    """A refusal by Slack's own short name, in a 200."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


def conversation(place: object) -> str:
    """A channel, a group or a direct message by its own id; methods that read or change something want no other."""
    if not isinstance(place, str) or not _CONVERSATION.fullmatch(place):
        raise SlackError("channel_not_found")
    if code := REFUSING.get(place):
        raise SlackError(code)
    return place


def writable(place: object) -> str:
    """The same, or a person: what is written to them stands in the direct message with them."""
    return direct_message(place) if is_user(place) else conversation(place)


def direct_message(user: object) -> str:
    if not isinstance(user, str) or not is_user(user):
        raise SlackError("user_not_found")
    if code := REFUSING.get(user):
        raise SlackError(code)
    return f"D{user[1:]}"


def person_in(place: str) -> str | None:
    """Whose direct message it is."""
    return f"U{place[1:]}" if place.startswith("D") else None


def is_user(place: object) -> bool:
    return isinstance(place, str) and _USER.fullmatch(place) is not None


def channel_type(place: str) -> str:
    return {"D": "im", "G": "group"}.get(place[0], "channel")
