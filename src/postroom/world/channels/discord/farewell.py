"""How a connection to Discord's Gateway ended, and what may be done after it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from postroom.domain.errors import TargetUnavailable
from postroom.world.channels.discord.refusals import BAD_TOKEN

FOR_GOOD: Final[Mapping[int, str]] = {
    4004: BAD_TOKEN,
    4010: "Discord refuses our shard",
    4011: "this bot is in so many servers that Discord wants its connection divided (sharding)",
    4012: "Discord no longer speaks this version of its Gateway",
    4013: "Discord does not know an intent that this bot asks for",
    4014: (
        "Discord does not allow this bot to read message content: turn on Message Content Intent"
        " in the developer portal, or leave message_content off"
    ),
}
_ANOTHER_SESSION: Final = frozenset({4003, 4007, 4009})


class Cut(Exception):
    """The connection is gone; `resumes`: the same session may be taken up again, and nothing is lost."""

    def __init__(self, words: str, *, resumes: bool = True) -> None:
        super().__init__(words)
        self.resumes = resumes


class Barred(TargetUnavailable):
    """It makes no sense to knock again until somebody has changed something."""


def farewell(code: int | None) -> Cut | Barred:
    if code is not None and code in FOR_GOOD:
        return Barred(FOR_GOOD[code])
    words = f"Discord's gateway closed the connection ({code})" if code else "the connection to Discord's gateway broke"
    return Cut(words, resumes=code not in _ANOTHER_SESSION)
