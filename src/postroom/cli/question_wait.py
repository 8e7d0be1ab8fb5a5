"""Wait for the end of a question: long looks, one after the other, also while the household restarts."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from postroom.cli.elsewhere import Elsewhere, NotReached, path_of
from postroom.cli.output import complain
from postroom.cli.question_end import INTERRUPTED

DEFAULT_WAIT: Final = "25s"
_LOOK_SECONDS: Final = 60.0  # the longest the household lets one look take
_AGAIN_SECONDS: Final = 2.0
_SLACK_SECONDS: Final = 20.0
Wait = Annotated[str, typer.Option("--wait", help="How long to wait, such as 90s, 15m or 1h; 0 only looks.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """Ctrl-C ends the waiting and leaves the question as it is."""

    there: Elsewhere
    wait_seconds: float
    now: Callable[[], float] = time.monotonic
    pause: Callable[[float], None] = time.sleep

    def until_over(self, ask_id: str) -> dict[str, Any]:
        """Looks at least once; a household that is away meanwhile is asked again until the time is up."""
        try:
            return self._until_over(ask_id)
        except KeyboardInterrupt:
            complain(f"Stopped waiting; the question stays open. To go on: postroom wait {ask_id}")
            raise typer.Exit(INTERRUPTED) from None

    def _until_over(self, ask_id: str) -> dict[str, Any]:
        until, was_away = self.now() + self.wait_seconds, False
        while True:
            left = max(until - self.now(), 0.0)
            try:
                found = self._look(ask_id, min(left, _LOOK_SECONDS))
            except NotReached as error:
                if left <= 0:
                    raise
                if not was_away:
                    complain(f"{error} Still waiting.")
                was_away = True
                self.pause(min(left, _AGAIN_SECONDS))
                continue
            if found["status"] != "open" or until <= self.now():
                return found

    def _look(self, ask_id: str, seconds: float) -> dict[str, Any]:
        return self.there.look(path_of("asks", ask_id), seconds + _SLACK_SECONDS, wait=round(seconds, 3))
