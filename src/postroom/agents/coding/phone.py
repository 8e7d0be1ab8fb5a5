"""Ask through the household and wait, for as long as the client lets us."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote

from postroom.agents.coding.card import AgentAsk, AgentCard, JsonObject
from postroom.settings.connections import Caller, NoHousehold

_SECONDS: Final = 10.0
_LOOK_SECONDS: Final = 20.0
_SLACK_SECONDS: Final = 15.0
_SHORTEST_LOOK_SECONDS: Final = 1.0
_AGAIN_SECONDS: Final = 2.0
SILENCE_SECONDS: Final = 30.0  # many a screen asks only when we have ended
_MOST_ALIKE: Final = 100
_SHORTEST_DEADLINE: Final = 30
LONGEST_DEADLINE: Final = 30 * 86_400


class Stopped(BaseException):
    """The client ended, or ended us: what we asked is of no use any more."""


class Silent(NoHousehold):
    """It took the question and then answered no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonAsker:
    caller: Caller
    wait_seconds: float
    silence_seconds: float = SILENCE_SECONDS
    deadline_seconds: int | None = None  # of the question; else a little longer than we wait
    now: Callable[[], float] = time.monotonic
    pause: Callable[[float], None] = time.sleep
    parent: int | None = field(default_factory=os.getppid)  # without it no one would hear us; None when that is well

    def ask(self, card: AgentCard, key: str, *, again: bool) -> AgentAsk | None:
        """
        The question under that key. `again`: one that is over does not count, the same may be asked once more.

        None when the household does not take it.
        """
        lasts = self.deadline_seconds or round(self.wait_seconds) + 60
        deadline = min(max(lasts, _SHORTEST_DEADLINE), LONGEST_DEADLINE)
        for ordinal in range(_MOST_ALIKE if again else 1):
            told = {**card.body, "deadline_seconds": deadline}
            own = f"{key}:{ordinal}" if again else key
            status, document = self.caller.call("POST", "/v1/asks", told, key=own, timeout_seconds=_SECONDS)
            if status not in (200, 201, 409):
                return None
            asked = _read(document)
            if status != 409 and not (again and asked.joined and not asked.is_open):
                return asked
        return None

    def until_over(self, ask_id: str, until: float | None = None) -> AgentAsk | None:
        """None while it is open at the end of our time. A household that restarts is waited for, but not for long."""
        until, heard = self.now() + self.wait_seconds if until is None else until, self.now()
        while True:
            left = max(until - self.now(), 0.0)
            found = self._look(ask_id, min(left, _LOOK_SECONDS), heard + self.silence_seconds - self.now())
            if found is not None:
                heard = self.now()
            elif self.now() >= heard + self.silence_seconds:
                raise Silent
            if found is not None and not found.is_open:
                return found
            if left <= 0:
                return None
            if self.parent not in (None, os.getppid()):
                raise Stopped
            if found is None:
                self.pause(max(min(left, _AGAIN_SECONDS, heard + self.silence_seconds - self.now()), 0.0))

    def cancel(self, ask_id: str, reason: str) -> AgentAsk | None:
        """How it ended: an answer that came first is one."""
        try:
            status, ended = self.caller.call("POST", f"{_path(ask_id)}/cancel", {"reason": reason}, timeout_seconds=5.0)
        except NoHousehold:
            return None
        return _read(ended) if status == 200 and "status" in ended else self._look(ask_id, 0)

    def tell(self, message: str) -> None:
        self.caller.call("POST", "/v1/notify", {"message": message, "wait_seconds": 0}, timeout_seconds=_SECONDS)

    def _look(self, ask_id: str, seconds: float, patience_seconds: float = math.inf) -> AgentAsk | None:
        path = f"{_path(ask_id)}?wait_seconds={seconds:.1f}"
        patience_seconds = max(min(seconds + _SLACK_SECONDS, patience_seconds), _SHORTEST_LOOK_SECONDS)
        try:
            status, found = self.caller.call("GET", path, timeout_seconds=patience_seconds)
        except NoHousehold:
            return None
        if status in (401, 403, 404):
            raise NoHousehold(str(status))
        return _read(found) if status == 200 else None


def _read(document: JsonObject) -> AgentAsk:
    """As the household's API shows a question."""
    answer, by = document.get("answer") or {}, document.get("answered_by") or {}
    return AgentAsk(
        ask_id=str(document.get("ask_id", "")),
        status=str(document.get("status", "")),
        joined=document.get("joined") is True,
        by=by.get("name") or "",
        channel=by.get("channel") or "",
        assurance=by.get("assurance") or "",
        value=answer.get("value"),
        selected=tuple(answer.get("selected") or ()),
        text=answer.get("text") or "",
    )


def _path(ask_id: str) -> str:
    return f"/v1/asks/{quote(ask_id, safe='')}"
