"""What counts for one person: the household's policy and the person's own, made one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import time
from functools import lru_cache
from typing import Any, Final

from postroom.domain.attention import AcceptedNotice, lower, rank
from postroom.domain.risk_and_urgency import Urgency
from postroom.domain.time import seconds
from postroom.work.attention.policy import (
    AgentRule,
    Budget,
    Collecting,
    EscalationStep,
    Policy,
    Preset,
    QuietWindow,
    policy_hash,
)
from postroom.work.attention.quiet import quiet_until
from postroom.work.attention.rotation import Rotation, on_duty

THREE_SLOTS: Final = (time(8), time(12, 30), time(18))
MANDATORY: Final = ("security", "approvals")
REPEATS: Final = (300, 600, 1200, 2400, 3600)
DEFAULT_MOST: Final = 20
EXPIRES_SECONDS: Final = 72 * 3600
_HOUR: Final = 3600
LONGEST_HOLD_US: Final = {
    Urgency.PASSIVE: seconds(24 * _HOUR),
    Urgency.NORMAL: seconds(14 * _HOUR),
    Urgency.TIME_SENSITIVE: seconds(10 * _HOUR),
    Urgency.CRITICAL: 0,
}
_NOT_COLLECTED: Final = Collecting(0, DEFAULT_MOST)
_NO_LIMIT: Final = Budget()
_CALM: Final = Policy(
    slots=THREE_SLOTS,
    collect=Collecting(600, DEFAULT_MOST),
    budget=Budget(6, 20),
    duplicate_seconds=1800,
)
_PRESETS: Final = {
    Preset.EVERYTHING: Policy(slots=(), collect=Collecting(0), duplicate_seconds=0),
    Preset.CALM: _CALM,
    Preset.FOCUS: _CALM,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Every field has a value: nothing is left to be set elsewhere."""

    hash: str = ""
    zone: str = "UTC"
    quiet_hours: tuple[QuietWindow, ...] = ()
    let_pass: tuple[Urgency, ...] = ()
    slots: tuple[time, ...] = ()
    slotted: tuple[Urgency, ...] = (Urgency.PASSIVE,)
    collect: Collecting = _NOT_COLLECTED
    budget: Budget = _NO_LIMIT
    ceiling: Urgency = Urgency.CRITICAL
    agents: Mapping[str, AgentRule] = field(default_factory=dict)
    categories: Mapping[str, Urgency] = field(default_factory=dict)
    escalation: tuple[EscalationStep, ...] = ()
    fallback: tuple[str, ...] = ()
    repeat_seconds: tuple[int, ...] = REPEATS
    duplicate_us: int = 0
    expires_us: int | None = None
    mandatory: tuple[str, ...] = MANDATORY

    def urgency(self, notice: AcceptedNotice) -> Urgency:
        """What the agent asked for, capped by the person's, the agent's and the category's ceiling."""
        agent = self.agents.get(notice.agent, AgentRule())
        capped = lower(notice.urgency, self.ceiling)
        for ceiling in (agent.ceiling, self.categories.get(notice.category or "")):
            capped = lower(capped, ceiling) if ceiling is not None else capped
        return capped if agent.critical else lower(capped, Urgency.TIME_SENSITIVE)

    def passes(self, urgency: Urgency) -> bool:
        """Through quiet hours."""
        return urgency is Urgency.CRITICAL or urgency in self.let_pass

    def quiet_until(self, urgency: Urgency, at_us: int) -> int | None:
        return None if self.passes(urgency) else quiet_until(self.quiet_hours, self.zone, at_us)

    def expiry(self, notice: AcceptedNotice) -> int | None:
        if notice.expires_us is not None:
            return notice.expires_us
        waits = self.expires_us is not None and rank(self.urgency(notice)) <= rank(Urgency.NORMAL)
        return notice.created_us + (self.expires_us or 0) if waits else None


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyBook:
    household: Policy | None = None
    people: Mapping[str, Policy] = field(default_factory=dict)
    rotations: Mapping[str, Rotation] = field(default_factory=dict)
    zone: str = "UTC"  # of the household
    zones: Mapping[str, str] = field(default_factory=dict)  # of people
    _rules: dict[str, Rules] = field(init=False, repr=False, compare=False, default_factory=dict)

    def neutral(self, person: str) -> bool:
        """Neither the household nor the person has a policy: everything leaves at once and no row is written."""
        return self.household is None and person not in self.people

    def rules(self, person: str) -> Rules:
        found = self._rules.get(person)
        if found is None:
            found = self._rules[person] = merged(
                self.household, self.people.get(person), self.zones.get(person) or self.zone
            )
        return found

    def someone(self, name: str, at_us: int) -> str | None:
        """The person of this name, or who is on duty in the rotation of this name."""
        return on_duty(self.rotations[name], at_us) if name in self.rotations else name


@lru_cache(maxsize=1024)
def merged(household: Policy | None, person: Policy | None, zone: str = "UTC") -> Rules:
    """
    The person's value where set, else the household's; of ceilings and budgets the lower; mandatory of both.

    `zone`: the person's own, for policies that name none.
    """
    if household is None and person is None:
        return Rules(zone=zone)
    scopes = [_with_preset(policy) for policy in (person, household) if policy is not None]
    preset = _first(scopes, "preset") or Preset.EVERYTHING
    collect = _first(scopes, "collect") or Collecting(0)
    expires = _first(scopes, "expires_seconds")
    return Rules(
        hash=policy_hash(household, person),
        zone=_first(scopes, "zone") or zone,
        quiet_hours=_first(scopes, "quiet_hours") or (),
        let_pass=_first(scopes, "let_pass") or (),
        slots=_first(scopes, "slots") or (),
        slotted=(Urgency.PASSIVE, Urgency.NORMAL) if preset is Preset.FOCUS else (Urgency.PASSIVE,),
        collect=Collecting(collect.window_seconds, collect.most or DEFAULT_MOST),
        budget=Budget(_least(scopes, "per_hour"), _least(scopes, "per_day")),
        ceiling=min((scope.ceiling for scope in scopes if scope.ceiling), key=rank, default=Urgency.CRITICAL),
        agents=_agents(scopes),
        categories=_categories(scopes),
        escalation=_first(scopes, "escalation") or (),
        fallback=_first(scopes, "fallback") or (),
        repeat_seconds=REPEATS if (repeats := _first(scopes, "repeat_seconds")) is None else repeats,
        duplicate_us=seconds(_first(scopes, "duplicate_seconds") or 0),
        expires_us=seconds(EXPIRES_SECONDS if expires is None else expires),
        mandatory=_mandatory(scopes),
    )


def _with_preset(policy: Policy) -> Policy:
    """A preset fills what its own scope leaves open."""
    if policy.preset is None:
        return policy
    filling = _PRESETS[policy.preset]
    open_names = [name for name in Policy.__dataclass_fields__ if getattr(policy, name) is None]
    return _replaced(policy, {name: getattr(filling, name) for name in open_names})


def _replaced(policy: Policy, changes: Mapping[str, Any]) -> Policy:
    return Policy(**{name: changes.get(name, getattr(policy, name)) for name in Policy.__dataclass_fields__})


def _first(scopes: list[Policy], name: str) -> Any:
    return next((value for scope in scopes if (value := getattr(scope, name)) is not None), None)


def _least(scopes: list[Policy], name: str) -> int | None:
    limits = [getattr(scope.budget, name) for scope in scopes if scope.budget is not None]
    return min((limit for limit in limits if limit is not None), default=None)


def _agents(scopes: list[Policy]) -> dict[str, AgentRule]:
    found: dict[str, AgentRule] = {}
    for scope in scopes:  # the person first
        for name, rule in scope.agents or ():
            before = found.get(name, AgentRule())
            ceilings = [one for one in (before.ceiling, rule.ceiling) if one is not None]
            critical = before.critical if before.critical is not None else rule.critical
            found[name] = AgentRule(min(ceilings, key=rank, default=None), critical)
    return found


def _categories(scopes: list[Policy]) -> dict[str, Urgency]:
    found: dict[str, Urgency] = {}
    for scope in scopes:
        for name, ceiling in scope.categories or ():
            if ceiling is not None:
                found[name] = lower(found.get(name, ceiling), ceiling)
    return found


def _mandatory(scopes: list[Policy]) -> tuple[str, ...]:
    written = [scope.mandatory for scope in scopes if scope.mandatory is not None]
    return tuple(dict.fromkeys(name for one in written for name in one)) if written else MANDATORY
