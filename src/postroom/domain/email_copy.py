"""The e-mail copy of a notification: whether it goes, with what it goes, and how that ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from postroom.domain.attention import HoldReason
from postroom.domain.notification import Notification, Preferences
from postroom.domain.notify import MAX_MESSAGE_CHARACTERS

MUTED: Final = "muted"
_AROUND_A_NOTE: Final = 64  # its time, its type and the lines between, at most
_AROUND_ALL: Final = 200


@dataclass(frozen=True, slots=True)
class Send:
    """`zone`: in which the letter names its times."""

    address: str
    zone: str = "UTC"


@dataclass(frozen=True, slots=True)
class Defer:
    until_us: int
    reasons: tuple[HoldReason, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Drop:
    reason: str


Verdict = Send | Defer | Drop
Judge = Callable[[Notification, Preferences], Verdict]


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """
    What leaves as one e-mail. `fence` is the right to hand it over.

    Address and zone are those of the moment it was decided, so that a second
    worker writes the same letter to the same person under the same key.
    """

    id: str
    fence: int
    attempts: int
    user_id: str
    address: str
    zone: str
    notifications: Sequence[Notification]


@dataclass(frozen=True, slots=True)
class HandedOver:
    """`delivery_id` is unknown when an earlier hand-over turned out to have succeeded."""

    delivery_id: str | None


@dataclass(frozen=True, slots=True)
class TryAgain:
    at_us: int
    reason: str


@dataclass(frozen=True, slots=True)
class GivenUp:
    reason: str


Ending = HandedOver | TryAgain | GivenUp


def digests(waited: Sequence[Notification]) -> Iterator[Sequence[Notification]]:
    """Everything in one e-mail; in several only when it is longer than a message may be."""
    start, room = 0, MAX_MESSAGE_CHARACTERS - _AROUND_ALL
    for place, one in enumerate(waited):
        needed = len(one.message) + len(one.link or "") + _AROUND_A_NOTE
        if needed > room:
            yield waited[start:place]
            start, room = place, MAX_MESSAGE_CHARACTERS - _AROUND_ALL
        room -= needed
    yield waited[start:]
