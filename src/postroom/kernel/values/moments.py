"""What is due by itself: whose, why and since when; and how long that waits for what people sent in time."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from postroom.kernel.values.ids import SECOND_US, seconds

CATCH_UP_SECONDS: Final = 60  # how long a reminder waits for what people sent in time and we have not read yet
PATIENCE_SECONDS: Final = 600  # how long an end waits for it: longer than a channel is usually out of reach
_LOOK_AGAIN_US: Final = SECOND_US
_FIRST_PAUSE_SECONDS: Final = 2.0
LONGEST_PAUSE_SECONDS: Final = 60.0


class Reason(StrEnum):
    REMIND = "remind"
    ESCALATE = "escalate"
    EXPIRE = "expire"
    GO_ON = "go_on"  # to what comes next, whatever people answer
    LOOK_AFTER = "look_after"  # something is under way whose end may have come
    FORGET = "forget"

    @property
    def is_for_want_of_an_answer(self) -> bool:
        return self in (Reason.REMIND, Reason.ESCALATE, Reason.EXPIRE)


@dataclass(frozen=True, slots=True, kw_only=True)
class DueMoment:
    """
    `due_us`: when it was to be done, however late it is. `tries`: how often it has failed.

    `fence` is that of the claim; who has a lower one than the row has lost it.
    """

    kind: str
    id: str
    reason: Reason
    due_us: int
    fence: int
    tries: int

    @property
    def key(self) -> tuple[str, str, str]:
        return self.kind, self.id, self.reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A moment in the hands of its slice. `caught_up`: everything that was sent before it had been read."""

    moment: DueMoment
    now_us: int
    caught_up: bool = True

    @property
    def id(self) -> str:
        return self.moment.id

    @property
    def reason(self) -> Reason:
        return self.moment.reason


def waits_until(moment: DueMoment, now_us: int, read_until_us: int | None, awake_since_us: int) -> int | None:
    """
    Nothing ends before what was sent in time has been read, and nothing waits for ever; None when its time has come.

    `read_until_us`: until then everything has been read where it is shown; None when nothing can be on its way.
    `awake_since_us`: before that nobody was here to read. Whatever kept us from reading (we were down, the machine
    slept, the channel is away), patience begins when we could have read what was sent at the last moment. A reminder
    that was not missed waits for nothing.
    """
    if has_read(moment, read_until_us):
        return None
    match moment.reason:
        case Reason.EXPIRE:
            latest_us = max(moment.due_us, awake_since_us) + seconds(PATIENCE_SECONDS)
        case Reason.REMIND | Reason.ESCALATE if moment.due_us < awake_since_us:
            latest_us = awake_since_us + seconds(CATCH_UP_SECONDS)
        case _:
            return None
    return min(now_us + _LOOK_AGAIN_US, latest_us) if now_us < latest_us else None


def has_read(moment: DueMoment, read_until_us: int | None) -> bool:
    return read_until_us is None or read_until_us >= moment.due_us


def pause_seconds(failures: int) -> float:
    """What failed keeps its distance: longer each time, so that it never stands in the way of other work."""
    return min(_FIRST_PAUSE_SECONDS * 2.0 ** min(failures - 1, 30), LONGEST_PAUSE_SECONDS)
