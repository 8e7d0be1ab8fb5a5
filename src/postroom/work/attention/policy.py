"""What a household or a person wants of their notices, as it was written."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields
from datetime import time
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final

from postroom.domain.risk_and_urgency import Urgency

DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


class Preset(StrEnum):
    EVERYTHING = "everything"  # nothing waits but for quiet hours
    CALM = "calm"  # the first at once, then collected; what is passive waits for a slot
    FOCUS = "focus"  # what is normal waits for a slot, too


@dataclass(frozen=True, slots=True)
class QuietWindow:
    """Half-open on the wall clock; `days` are those on which it begins, None for every day. Equal times never begin."""

    start: time
    end: time
    days: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Collecting:
    window_seconds: int
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Budget:
    """Interruptions by one agent; None is no limit."""

    per_hour: int | None = None
    per_day: int | None = None


@dataclass(frozen=True, slots=True)
class AgentRule:
    ceiling: Urgency | None = None
    critical: bool | None = None


@dataclass(frozen=True, slots=True)
class EscalationStep:
    """`person` may name a rotation. Progress is kept by `id`, so an edited chain neither pages again nor skips."""

    id: str
    after_seconds: int
    channel: str | None = None
    person: str | None = None
    named: bool = True  # the id was written, not derived


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """None and empty mean: not set here. `slots=()` is set, and means none."""

    preset: Preset | None = None
    zone: str | None = None
    quiet_hours: tuple[QuietWindow, ...] | None = None
    let_pass: tuple[Urgency, ...] | None = None
    slots: tuple[time, ...] | None = None
    collect: Collecting | None = None
    budget: Budget | None = None
    ceiling: Urgency | None = None
    agents: tuple[tuple[str, AgentRule], ...] | None = None
    categories: tuple[tuple[str, Urgency | None], ...] | None = None
    escalation: tuple[EscalationStep, ...] | None = None
    fallback: tuple[str, ...] | None = None
    repeat_seconds: tuple[int, ...] | None = None
    duplicate_seconds: int | None = None
    expires_seconds: int | None = None
    mandatory: tuple[str, ...] | None = None


def policy_mapping(policy: Policy) -> dict[str, Any]:
    """The same keys that `parse_policy` reads; parsing it again gives the same policy."""
    written = {name: _written(value) for name, value in _given(policy).items()}
    for name in ("agents", "categories"):
        pairs = getattr(policy, name)
        if pairs is not None:
            written[name] = {one: _written(rule) if name == "agents" else _ceiling(rule) for one, rule in pairs}
    return written


def _given(value: Any) -> dict[str, Any]:
    every = {one.name: getattr(value, one.name) for one in fields(value)}
    return {name: one for name, one in every.items() if one is not None}


def _written(value: Any) -> Any:
    match value:
        case QuietWindow():
            days = {} if value.days is None else {"days": list(value.days)}
            return {**days, "from": _clock(value.start), "until": _clock(value.end)}
        case EscalationStep():
            return {
                name: one for name, one in _given(value).items() if name != "named" and (name != "id" or value.named)
            }
        case Collecting() | Budget() | AgentRule():
            return {name: _written(one) for name, one in _given(value).items()}
        case time():
            return _clock(value)
        case StrEnum():
            return str(value)
        case tuple():
            return [_written(one) for one in value]
        case _:
            return value


def _ceiling(urgency: Urgency | None) -> dict[str, str]:
    return {} if urgency is None else {"ceiling": str(urgency)}


def _clock(at: time) -> str:
    return at.isoformat(timespec="seconds" if at.second else "minutes")


@lru_cache(maxsize=1024)
def policy_hash(household: Policy | None, person: Policy | None) -> str:
    """Of what was written in both scopes, so that a decision can name the policy it followed."""
    written = [policy_mapping(policy) if policy else None for policy in (household, person)]
    return hashlib.sha256(json.dumps(written, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
