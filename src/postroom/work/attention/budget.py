"""How often one agent may interrupt a person: in a sliding hour, and in the person's local day."""

from __future__ import annotations

from datetime import time, timedelta
from typing import Final

from postroom.domain.risk_and_urgency import Urgency
from postroom.domain.time import seconds, to_datetime, to_us
from postroom.domain.wall_clock import instant, known_zone
from postroom.work.attention.rules import Rules
from postroom.work.attention.state import AttentionState, SendKind

HOUR_US: Final = seconds(3600)
_COUNTED: Final = (Urgency.NORMAL, Urgency.TIME_SENSITIVE)


def frees_at(state: AttentionState, rules: Rules, agent: str, at_us: int) -> int | None:
    """When the agent may interrupt again, or None when it may at this moment."""
    past = sorted(moment for moment in _interruptions(state, agent) if moment <= at_us)
    hour = _hour_frees(past, rules.budget.per_hour, at_us)
    day = _day_frees(past, rules, at_us)
    return max((moment for moment in (hour, day) if moment is not None), default=None)


def _interruptions(state: AttentionState, agent: str) -> list[int]:
    """Each notice counts once, by the moment it left; digests, repeats and steps do not count."""
    sends = (one for one in state.sends.values() if one.kind is SendKind.NOTICE and one.agent == agent)
    return [one.at_us for one in sends if one.urgency in _COUNTED and not one.returned and not one.replaced]


def _hour_frees(past: list[int], limit: int | None, at_us: int) -> int | None:
    recent = [moment for moment in past if moment > at_us - HOUR_US]
    if limit is None or len(recent) < limit:
        return None
    return recent[-limit] + HOUR_US if limit else at_us + HOUR_US


def _day_frees(past: list[int], rules: Rules, at_us: int) -> int | None:
    """Counted by the moments that lie in the local day as it is now, so a journey does not start it twice."""
    limit, zone = rules.budget.per_day, known_zone(rules.zone)
    if limit is None:
        return None
    today = to_datetime(at_us).astimezone(zone).date()
    start, end = (to_us(instant(today + timedelta(days=days), time(0), zone, last=False)) for days in (0, 1))
    return end if sum(1 for moment in past if moment >= start) >= limit else None
