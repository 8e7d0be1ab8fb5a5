"""What `/health` says of a part: up, and whether its process does all of its background work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from postroom.domain.time import to_text
from postroom.system.loop import LoopTrouble

Failing = Callable[[], Sequence[LoopTrouble]]  # the loops of this process that fail just now


def part_health(part: str, failing: Sequence[LoopTrouble], household: str) -> dict[str, Any]:
    """Served without a token, so it names kinds of errors and never their texts."""
    about = {"part": part, "household": household}
    if not failing:
        return {"status": "ok", **about}
    loops = [
        {"loop": one.loop, "error": one.kind, "since": to_text(one.since_us), "failures": one.failures}
        for one in failing
    ]
    return {"status": "degraded", **about, "loops": loops}
