"""When a popup gives up waiting."""

from __future__ import annotations

import math


def due_at(*, opened: float, timeout: float | None, active: float | None, grace: float) -> float | None:
    """Not before the timeout, and not while the person is at it: `grace` seconds after the last sign of that."""
    if timeout is None:
        return None
    due = opened + timeout
    return due if active is None else max(due, active + grace)


def notice(*, opened: float, timeout: float | None, due: float | None, now: float) -> str:
    if timeout is None or due is None:
        return ""
    if now >= opened + timeout:
        return "Waiting while you type"
    seconds = math.ceil(opened + timeout - now)
    minutes, seconds = divmod(seconds, 60)
    return f"Closes in {minutes}:{seconds:02d}" if minutes else f"Closes in {seconds} s"
