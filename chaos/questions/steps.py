"""The named moments of a question, from asking to telling, at which a process can be made to die."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from chaos.crash_points import Crash, CrashPlan, Point


class Phase(StrEnum):
    ASK = "ask"
    PRESENT = "present"
    HEAR = "hear"
    DECIDE = "decide"
    CLOSE = "close"
    TELL = "tell"


class Way(StrEnum):
    """How the person answers."""

    PRESS = "press"
    REPLY = "reply"
    MAIL = "mail"

    @property
    def channel(self) -> str:
        return "email" if self is Way.MAIL else "telegram"


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """`passage`: the card passes the same points when it is shown and, as an edit, when it is closed."""

    phase: Phase
    point: str
    passage: int = 1

    def __str__(self) -> str:
        return f"{self.phase}: {self.point}"

    def plan(self, token: str) -> CrashPlan:
        return CrashPlan(point=self.point, passage=self.passage, token=token)


def before(call: str) -> str:
    return f"before {call}"


def after(call: str) -> str:
    return f"after {call}"


def around(phase: Phase, call: str, passage: int = 1) -> list[Moment]:
    return [Moment(phase=phase, point=when(call), passage=passage) for when in (before, after)]


def _sent(phase: Phase, passage: int) -> list[Moment]:
    """A card on its way through the delivery plane."""
    points = (
        Point.BEFORE_INSERT,
        Point.AFTER_INSERT,
        Point.BEFORE_SEND,
        Point.DURING_SEND,
        Point.AFTER_SEND,
        Point.BEFORE_SETTLE,
        Point.AFTER_SETTLE,
    )
    return [Moment(phase=phase, point=str(point), passage=passage) for point in points]


MOMENTS: Final[list[Moment]] = [
    *around(Phase.ASK, "ask"),
    Moment(phase=Phase.PRESENT, point=after("due")),
    *_sent(Phase.PRESENT, 1),
    *around(Phase.PRESENT, "submitted"),
    *around(Phase.PRESENT, "presented"),
    Moment(phase=Phase.HEAR, point=after("listen")),
    *around(Phase.DECIDE, "hear"),
    *around(Phase.HEAR, "answer_press"),
    *around(Phase.HEAR, "save_offset"),
    Moment(phase=Phase.CLOSE, point=after("due"), passage=2),
    *_sent(Phase.CLOSE, 2),
    *around(Phase.CLOSE, "presented", 2),
    *around(Phase.TELL, "collect"),
    *around(Phase.TELL, "telling"),
]
_PRESSES_ONLY: Final = frozenset(around(Phase.HEAR, "answer_press"))
_COMING_IN: Final = frozenset({Phase.HEAR, Phase.DECIDE, Phase.TELL})
_SHORT: Final = frozenset(
    {
        Moment(phase=Phase.ASK, point=after("ask")),
        Moment(phase=Phase.PRESENT, point=str(Point.AFTER_SEND)),
        Moment(phase=Phase.HEAR, point=after("listen")),
        Moment(phase=Phase.DECIDE, point=after("hear")),
        Moment(phase=Phase.CLOSE, point=before("presented"), passage=2),
        Moment(phase=Phase.TELL, point=after("collect")),
    }
)


def moments(way: Way, *, short: bool = False) -> list[Moment]:
    """
    A reply has no button that waits to be answered; `short` has one of each phase.

    A mail that is sent is another matter, and has rows of its own; here it is the one that comes in.
    """
    found = [one for one in MOMENTS if way is Way.PRESS or one not in _PRESSES_ONLY]
    if way is Way.MAIL:
        found = [one for one in found if one.phase in _COMING_IN]
    return [one for one in found if one in _SHORT] if short else found


def watch(thing: object, calls: list[str], crash: Crash) -> None:
    """From now on it can die before and after these calls of its; a look that found nothing is no passage."""
    for call in calls:
        setattr(thing, call, _watched(call, getattr(thing, call), crash))


def _watched(call: str, inner: Callable[..., Awaitable[Any]], crash: Crash) -> Callable[..., Awaitable[Any]]:
    async def passing(*arguments: Any, **named: Any) -> Any:
        crash.at(before(call))
        found = await inner(*arguments, **named)
        if found not in ([], ()):
            crash.at(after(call))
        return found

    return passing
