"""The named moments of a delivery, or of a question, at which a process can be made to die."""

from __future__ import annotations

import os
import signal
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum


class Point(StrEnum):
    BEFORE_INSERT = "before insert"
    AFTER_INSERT = "after insert"
    BEFORE_CLAIM = "before claim"
    AFTER_CLAIM = "after claim"
    BEFORE_MARK = "before mark"
    AFTER_MARK = "after mark"
    BEFORE_SEND = "before send"
    DURING_SEND = "during send"  # the provider has it, the answer is not back: killed from outside
    AFTER_SEND = "after send"
    BEFORE_ADVANCE = "before advance"
    AFTER_ADVANCE = "after advance"
    BEFORE_SETTLE = "before settle"
    AFTER_SETTLE = "after settle"
    BEFORE_RECLAIM = "before reclaim"
    AFTER_RECLAIM = "after reclaim"
    BEFORE_ASK = "before ask"  # whether a message arrived
    AFTER_ASK = "after ask"
    AFTER_SECOND_SEND = "after second send"  # with the key of the first


@dataclass(frozen=True, slots=True, kw_only=True)
class CrashPlan:
    """Die at the n-th passage of a point, counting only this message's passages when one is named."""

    point: str
    passage: int = 1
    token: str | None = None


class Crash:
    def __init__(self, plan: CrashPlan | None) -> None:
        self._plan = plan
        self._passages: Counter[str] = Counter()

    def plan(self, plan: CrashPlan) -> None:
        """From now on this one, counted from here."""
        self._plan = plan
        self._passages.clear()

    def plans(self, point: str) -> bool:
        """Whether it is still to die there."""
        return self._plan is not None and self._plan.point == point

    def at(self, point: str, token: str | None = None) -> None:
        plan = self._plan
        if plan is None or plan.point != point or (plan.token and token and plan.token != token):
            return
        self._passages[point] += 1
        if self._passages[point] == plan.passage:
            os.kill(os.getpid(), signal.SIGKILL)
