"""What a channel can do, in its own words: whatever would ask for a channel's name asks this instead."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

Unit = Literal["utf16", "bytes", "characters"]
Style = Literal["chat", "letter"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadIdentity:
    """How the message that is answered is named: PLACE:ID, each half by its own pattern."""

    place: str
    id: str
    words: str = "<place>:<id>"
    """As a caller is told to write it."""

    def split(self, thread: str) -> tuple[str, str] | None:
        """A number comes back without leading zeros."""
        found = re.fullmatch(f"(?P<place>{self.place}):(?P<id>{self.id})", thread.strip(), re.ASCII)
        return (found["place"], _plain(found["id"])) if found else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """Everything is off until a channel says otherwise: what is not declared is never relied on."""

    dedupes_for_seconds: float = 0.0
    """How long the provider takes a second call with the same key for the first one."""
    reconciles: bool = False
    """The provider can be asked whether a message arrived."""
    receipt: bool = True
    """The provider names what it has taken."""
    formats: tuple[str, ...] = ("plain",)
    max_units: int | None = None
    """What the provider shows as one message, counted in `unit`; None: no limit below ours."""
    unit: Unit = "characters"
    buttons: bool = False
    most_buttons: int | None = None
    """How many fit under one message; a card that needs more has a numbered list or a link instead."""
    edits: bool = False
    deletes: bool = False
    reacts: bool = False
    replies: bool = False
    threads: bool = False
    """An answer stays in a topic or thread of its own."""
    files: bool = False
    most_files: int | None = None
    """How many go with one message; None: as many as we take at all, likewise for their bytes."""
    most_file_bytes: int | None = None
    """Of one file."""
    most_files_bytes: int | None = None
    """Of all files of one message together."""
    inbound: bool = False
    """What people write there is heard."""
    comes_back: bool = False
    """What was taken may come back days later, so addresses that are gone are remembered."""
    own_app: bool = False
    """Shown by the household's own app: what is pressed comes to its own door, and a press beside it opens a page."""

    style: Style = "chat"
    """A letter has a subject and shows who speaks; in a chat the words say it."""
    thread_identity: ThreadIdentity | None = None
    """Set: a reply or a reaction names the message it answers in this form, and goes to that place."""
    timeout_seconds: float | None = None
    """How long one call may take; None: as long as on any channel."""
    spacing_seconds: float = 0.0
    """The pause between two messages to one address."""
    bot_per_minute: int | None = None
    """None: the household's limit for any channel; the same for people's own accounts."""
    user_per_minute: int | None = None


KnownChannels = Mapping[str, Capabilities]
"""What a message may name, with what it can; one without credentials is known and unavailable."""

UNDECLARED: Final = Capabilities(replies=True)
"""Of a channel written before channels declared anything: it refuses by itself the replies it cannot carry."""


def _plain(identity: str) -> str:
    return str(int(identity)) if identity.isdecimal() else identity
