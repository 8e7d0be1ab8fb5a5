"""Which channel a notice leaves by: its own, or another when that one is down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from postroom.domain.time import seconds
from postroom.work.attention.rules import Rules
from postroom.work.attention.state import AttentionState

PATIENCE_US: Final = seconds(120)


@dataclass(frozen=True, slots=True)
class Way:
    """Without a channel: when another may be chosen, None for as soon as one is up."""

    channel: str | None
    until_us: int | None = None


def route(state: AttentionState, rules: Rules, wanted: str, at_us: int) -> Way:
    """A channel that is down gets a little time to come back before another takes its place."""
    if wanted not in state.down:
        return Way(wanted)
    other = another(state, rules, (wanted,))
    given_up = state.down[wanted] + PATIENCE_US
    if other is None:
        return Way(None)
    return Way(other) if at_us >= given_up else Way(None, given_up)


def another(state: AttentionState, rules: Rules, tried: tuple[str, ...]) -> str | None:
    return next((one for one in rules.fallback if one not in tried and one not in state.down), None)
