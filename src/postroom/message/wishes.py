"""The words of a wish: how soon, how risky, on which channel; a notice as handed in, and why it is not shown yet."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from postroom.kernel.values.ids import record
from postroom.message.arguments import choice, text, truth, whole_number

# The values of an option that lets something happen, or not.
ALLOW: Final = "allow"
APPROVE: Final = "approve"
DENY: Final = "deny"

AUTO: Final = "auto"  # the first channel that is set up, in the person's own order
RESERVED_NAMES: Final = frozenset({AUTO, "console", "desk"})  # no account's: they mean something wherever one is named

MAX_NAME_CHARACTERS: Final = 200
LONGEST_LIFE_SECONDS: Final = 30 * 86_400


class Risk(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        return list(Risk).index(self)

    @property
    def is_high(self) -> bool:
        return self.rank >= Risk.HIGH.rank


class Urgency(StrEnum):
    PASSIVE = "passive"
    NORMAL = "normal"
    TIME_SENSITIVE = "time_sensitive"
    CRITICAL = "critical"


URGENCIES: Final = tuple(Urgency)  # lowest first
_RANKS: Final = {urgency: place for place, urgency in enumerate(URGENCIES)}
# The household itself speaks: cards that wait for an answer, copies that have waited already, and what intents follow.
OWN_AGENTS: Final = frozenset(
    {"approvals", "attention", "attention.mutes", "inbox", "inbox.confirmation", "intents", "questions"}
)
PRIORITY_URGENCY: Final = {"low": Urgency.PASSIVE, "medium": Urgency.NORMAL, "high": Urgency.TIME_SENSITIVE}


class Because(StrEnum):
    """Why a notice waits, or why it left in another way than its agent asked."""

    QUIET = "quiet"
    SNOOZE = "snooze"
    SLOT = "slot"
    BUDGET = "budget"
    COLLECT = "collect"
    AWAY = "away"
    CHANNEL = "channel"
    RETURNED = "returned"  # it could not be handed over
    CEILING = "ceiling"  # it is less urgent here than its agent asked for
    DUPLICATE = "duplicate"
    SUPERSEDED = "superseded"
    TOMBSTONE = "tombstone"  # withdrawn before it came
    EXPIRED = "expired"
    OVER_BUDGET = "over_budget"  # sent all the same, and marked
    LONGEST_HOLD = "longest_hold"  # it has waited as long as its urgency may
    EMPTY_STEP = "empty_step"  # it reaches no one who was not reached before
    FAILED = "failed"
    LATE = "late"
    MUTED = "muted"
    UNANSWERED = "unanswered"
    WITHDRAWN = "withdrawn"
    STEP = "step"
    REPEAT = "repeat"


@dataclass(frozen=True, slots=True)
class HoldReason:
    """`until_us` is when this one no longer counts; None when only something from outside ends it."""

    reason: Because
    until_us: int | None = None


@record
class AcceptedNotice:
    """
    One message of one agent to one person.

    `key`: the agent's own name for what it is about; a newer notice of the same key supersedes an unsent one.
    `text`: what a line of a list shows. `fingerprint`: of the whole content, to know duplicates by.
    `room`: how many characters it takes in a digest; None when it has to be a message of its own.
    `apart`: it is a copy of what is shown elsewhere already, by this sender; it goes to the address that the person
    named for such copies, and shares a digest with those alone.
    """

    id: str
    person: str
    agent: str
    created_us: int
    channel: str
    text: str = ""
    urgency: Urgency = Urgency.NORMAL
    category: str | None = None
    thread: str | None = None
    key: str | None = None
    needs_ack: bool = False
    expires_us: int | None = None
    fingerprint: str = ""
    room: int | None = 200
    apart: str | None = None

    @property
    def order(self) -> tuple[int, str]:
        return self.created_us, self.id

    def apart_at(self, person: str, channel: str) -> str | None:
        """Only where it was meant to go; on a way around it goes where everything goes."""
        return self.apart if (person, channel) == (self.person, self.channel) else None


@record
class AttentionWish:
    """
    What an agent asks for a message beyond its text; the person's policy has the last word.

    `supersedes`: the agent's own key; a newer message of the same key takes the place of one that has not been sent.
    """

    urgency: Urgency | None = choice("How soon it should be seen; instead of priority.", Urgency)
    category: str | None = text("What kind of message it is, such as security.", MAX_NAME_CHARACTERS)
    thread: str | None = text("Your name for what belongs together.", MAX_NAME_CHARACTERS)
    supersedes: str | None = text("Your own key: replaces what you sent under it.", MAX_NAME_CHARACTERS)
    needs_ack: bool = truth("A person has to acknowledge it.")
    expires_in_seconds: int | None = whole_number(
        "Not worth showing after this.", 1, LONGEST_LIFE_SECONDS, unit="seconds"
    )


def rank(urgency: Urgency) -> int:
    return _RANKS[urgency]


def lower(first: Urgency, second: Urgency) -> Urgency:
    return first if _RANKS[first] <= _RANKS[second] else second


def derived_id(*parts: object) -> str:
    """The same cause has the same id, in every process and at every replay."""
    return hashlib.sha256("\x1f".join(str(part) for part in parts).encode("utf-8", "surrogatepass")).hexdigest()


# Why a message is not shown now, said once for people on a page, in a terminal and in `why`: each follows "because".

REASON_WORDS: Final[Mapping[str, str]] = {
    Because.QUIET: "quiet hours are on",
    Because.SNOOZE: "it was put off by the person",
    Because.SLOT: "it can wait for the next set time",
    Because.BUDGET: "its agent has used up its interruptions",
    Because.COLLECT: "notices of this kind are collected",
    Because.AWAY: "the person is away",
    Because.CHANNEL: "its channel is down",
    Because.RETURNED: "it could not be handed over and is tried again",
    Because.CEILING: "it is less urgent here than its agent asked for",
    Because.DUPLICATE: "the same was said shortly before",
    Because.SUPERSEDED: "a newer notice of the same key took its place",
    Because.TOMBSTONE: "it was withdrawn before it came",
    Because.EXPIRED: "its time was over",
    Because.OVER_BUDGET: "its agent had used up its interruptions, and it was urgent",
    Because.LONGEST_HOLD: "it had waited as long as its urgency may",
    Because.EMPTY_STEP: "no one was there who had not been reached before",
    Because.FAILED: "it could not be delivered",
    Because.LATE: "it was later than planned",
    Because.MUTED: "it is muted by the person",
    Because.UNANSWERED: "no one answered",
    Because.WITHDRAWN: "its agent withdrew it",
    Because.STEP: "no one had answered",
    Because.REPEAT: "no one had answered",
}


def because(reasons: Iterable[str]) -> str:
    """One or several, as they stand in a sentence; what another version named is said as it is."""
    return " and ".join(dict.fromkeys(REASON_WORDS.get(one, one.replace("_", " ")) for one in reasons))
