"""What a household or a person wants of notices, and when they are away: written, read, and made one."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import time
from functools import lru_cache
from hashlib import sha256
from typing import Any, Final, TypeVar

from postroom.attention.model import (
    DAYS,
    AgentRule,
    Budget,
    Collecting,
    EscalationStep,
    Policy,
    Preset,
    QuietWindow,
    policy_hash,
    policy_mapping,
)
from postroom.attention.rules.times import Rotation, moment, on_duty, quiet_until
from postroom.kernel.values.errors import FieldError
from postroom.kernel.values.fields import Document, Fields, printable
from postroom.kernel.values.ids import seconds, to_text
from postroom.kernel.values.zones import is_zone
from postroom.message.wishes import URGENCIES, AcceptedNotice, Urgency, lower, rank

# -- When a person is away, and who stands in --

LONGEST_ABSENCE: Final = 366 * 86_400  # seconds
_KEYS: Final = ("from", "until", "delegate", "let_pass", "categories")


@dataclass(frozen=True, slots=True, kw_only=True)
class Absence:
    """
    Half-open in absolute time. Without a delegate everything waits until the end.

    `let_pass`: still shown to the person. `categories`: what the delegate may see, None for everything; the rest waits.
    """

    start_us: int
    end_us: int
    delegate: str | None = None
    let_pass: tuple[Urgency, ...] = ()
    categories: tuple[str, ...] | None = None

    def covers(self, at_us: int) -> bool:
        return self.start_us <= at_us < self.end_us

    def delegates(self, category: str | None) -> bool:
        return self.delegate is not None and (self.categories is None or category in self.categories)


def parse_absence(
    payload: object,
    *,
    person: str,
    people: Collection[str],
    absences: Mapping[str, tuple[Absence, ...]],
) -> Absence:
    """Raises ValidationError for what is wrong, and for delegates who would stand in for each other."""
    given = Fields(payload, whole="away")
    given.refuse_unknown(_KEYS)
    absence = Absence(
        start_us=moment(given, "from"),
        end_us=moment(given, "until"),
        delegate=given.optional_text("delegate", maximum=200),
        let_pass=tuple(Urgency(one) for one in _list_of(given, "let_pass", URGENCIES)),
        categories=tuple(_list_of(given, "categories")) if given.has("categories") else None,
    )
    if absence.start_us >= absence.end_us and not given.complaints:
        given.complain("until", "must lie after from", "invalid")
    if problem := _delegate_problem(absence, person, people, absences):
        given.complain("delegate", *problem)
    given.finish()
    return absence


def absence_mapping(absence: Absence) -> Document:
    """The same keys that `parse_absence` reads."""
    optional = {
        "delegate": absence.delegate,
        "let_pass": [str(one) for one in absence.let_pass] or None,
        "categories": list(absence.categories) if absence.categories is not None else None,
    }
    given = {name: value for name, value in optional.items() if value is not None}
    return {"from": to_text(absence.start_us), "until": to_text(absence.end_us), **given}


def _list_of(given: Fields, name: str, allowed: Collection[str] | None = None) -> list[str]:
    value = given.raw(name)
    if value is None:
        return []
    if isinstance(value, list) and all(isinstance(one, str) and (not allowed or one in allowed) for one in value):
        return value
    given.complain(name, f"must be a list of {', '.join(allowed) if allowed else 'names'}", "not_allowed")
    return []


def _delegate_problem(
    absence: Absence, person: str, people: Collection[str], absences: Mapping[str, tuple[Absence, ...]]
) -> tuple[str, str] | None:
    """What is handed on is not handed on again, so a circle would leave a notice with no one."""
    if absence.delegate is None:
        return None
    if absence.delegate not in people:
        return "is no person that is known here", "unknown_person"
    seen = {person}
    current: str | None = absence.delegate
    while current is not None:
        if current in seen:
            return "would stand in for each other in a circle", "cycle"
        seen.add(current)
        current = _delegate_of(absences.get(current, ()), absence)
    return None


def _delegate_of(absences: tuple[Absence, ...], during: Absence) -> str | None:
    meeting = (one for one in absences if one.start_us < during.end_us and during.start_us < one.end_us)
    return next((one.delegate for one in meeting if one.delegate is not None), None)


# -- A policy that somebody wrote, read with everything that is wrong with it --

KEYS: Final = tuple(Policy.__dataclass_fields__)
_DAY_SECONDS: Final = 86_400
_CLOCK: Final = re.compile(r"([01]\d|2[0-3]):[0-5]\d", re.ASCII)
_TO_THE_SECOND: Final = re.compile(rf"{_CLOCK.pattern}(:[0-5]\d)?", re.ASCII)
_MOST: Final = 50  # windows, slots, steps: more is a mistake
_NAME: Final = 200
Item = TypeVar("Item")


def parse_policy(
    payload: object,
    *,
    people: Collection[str] | None = None,
    channels: Collection[str] | None = None,
    person: str | None = None,
    path: str = "",
) -> Policy:
    """
    Raises ValidationError, which names every wrong field as it was written.

    `people`: those an escalation may reach, rotations among them; `channels`: those there are. None: not looked at.
    `person`: whose it is, None for the household's. `path`: where it stands.
    """
    given = Fields(payload, path, whole="policy")
    given.refuse_unknown(KEYS)
    reader = _Reader(given, people, channels, person)
    policy = Policy(
        preset=Preset(chosen) if (chosen := reader.chosen("preset", tuple(Preset))) else None,
        zone=reader.zone(),
        quiet_hours=reader.many("quiet_hours", reader.window),
        let_pass=reader.many("let_pass", reader.urgency),
        slots=reader.many("slots", reader.clock),
        collect=reader.collecting(),
        budget=reader.budget(),
        ceiling=reader.ceiling(given),
        agents=reader.named("agents", reader.agent),
        categories=reader.named("categories", reader.category),
        escalation=reader.many("escalation", reader.step),
        fallback=reader.many("fallback", reader.channel),
        repeat_seconds=reader.many("repeat_seconds", reader.gap),
        duplicate_seconds=reader.whole("duplicate_seconds", given, 0, 30 * _DAY_SECONDS),
        expires_seconds=reader.whole("expires_seconds", given, 60, 365 * _DAY_SECONDS),
        mandatory=reader.many("mandatory", reader.name),
    )
    reader.refuse_twice(policy)
    given.finish()
    return policy


class _Reader:
    """One kind of value in each method; what is wrong is put on the list and None returned."""

    def __init__(
        self,
        given: Fields,
        people: Collection[str] | None,
        channels: Collection[str] | None,
        person: str | None,
    ) -> None:
        self._given = given
        self._people, self._channels, self._person = people, channels, person

    def wrong(self, path: str, error: str, code: str = "invalid") -> None:
        self._given.complaints.append(FieldError(path, error, code))  # the path is whole already

    def chosen(self, name: str, allowed: Collection[str]) -> str | None:
        return self._given.choice(name, allowed) or None if self._given.has(name) else None

    def zone(self) -> str | None:
        name = self._given.optional_text("zone", maximum=_NAME)
        if name is not None and not is_zone(name):
            self._given.complain("zone", "is no known time zone, such as Europe/Vienna", "unknown_zone")
        return name

    def many(self, name: str, one: Callable[[str, Any], Item | None]) -> tuple[Item, ...] | None:
        value = self._given.raw(name)
        if value is None:
            return None
        if not isinstance(value, list | tuple):
            self._given.complain(name, "must be a list", "list_required")
            return None
        if len(value) > _MOST:
            self._given.complain(name, f"may have {_MOST} entries at most", "too_many")
            return None
        read = [one(f"{self._given.path(name)}.{place}", item) for place, item in enumerate(value)]
        return tuple(item for item in read if item is not None)

    def named(self, name: str, one: Callable[[Fields], Item]) -> tuple[tuple[str, Item], ...] | None:
        if not self._given.has(name):
            return None
        value = self._given.raw(name)
        inner = self._given.nested(name)
        if not isinstance(value, dict):
            return None
        return tuple((key, one(Fields(value[key], inner.path(printable(key)), inner.complaints))) for key in value)

    def clock(self, path: str, value: Any, shape: re.Pattern[str] = _CLOCK) -> time | None:
        if isinstance(value, str) and shape.fullmatch(value):
            return time.fromisoformat(value)
        self.wrong(path, "must be a time such as 07:30")
        return None

    def window(self, path: str, value: Any) -> QuietWindow | None:
        given = Fields(value, path, self._given.complaints)
        given.refuse_unknown(("days", "from", "until"))
        if not isinstance(value, dict):
            return None
        start, end = (self.clock(given.path(name), value.get(name), _TO_THE_SECOND) for name in ("from", "until"))
        days = self._days(given)
        return QuietWindow(start, end, days) if start is not None and end is not None else None

    def _days(self, given: Fields) -> tuple[str, ...] | None:
        days = given.raw("days")
        if days is None:
            return None
        if not isinstance(days, list | tuple) or not days or any(day not in DAYS for day in days):
            given.complain("days", f"must be a list of {', '.join(DAYS)}", "not_allowed")
            return None
        return tuple(days)

    def urgency(self, path: str, value: Any) -> Urgency | None:
        if isinstance(value, str) and value in URGENCIES:
            return Urgency(value)
        self.wrong(path, f"must be one of {', '.join(URGENCIES)}", "not_allowed")
        return None

    def ceiling(self, given: Fields) -> Urgency | None:
        return self.urgency(given.path("ceiling"), given.raw("ceiling")) if given.has("ceiling") else None

    def whole(self, name: str, given: Fields, least: int, most: int) -> int | None:
        value = given.raw(name)
        return None if value is None else self._number(given.path(name), value, least, most)

    def _number(self, path: str, value: Any, least: int, most: int) -> int | None:
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
            return value
        self.wrong(path, f"must be a whole number from {least} to {most}", "out_of_range")
        return None

    def collecting(self) -> Collecting | None:
        if not self._given.has("collect"):
            return None
        given = self._given.nested("collect")
        given.refuse_unknown(("window_seconds", "most"))
        window = self.whole("window_seconds", given, 0, _DAY_SECONDS)
        if not given.has("window_seconds"):
            given.complain("window_seconds", "is required", "required")
        return Collecting(window or 0, self.whole("most", given, 1, 1000))

    def budget(self) -> Budget | None:
        if not self._given.has("budget"):
            return None
        given = self._given.nested("budget")
        given.refuse_unknown(("per_hour", "per_day"))
        return Budget(self.whole("per_hour", given, 0, 10_000), self.whole("per_day", given, 0, 100_000))

    def agent(self, given: Fields) -> AgentRule:
        given.refuse_unknown(("ceiling", "critical"))
        critical = given.raw("critical")
        if critical is not None and not isinstance(critical, bool):
            given.complain("critical", "must be true or false", "boolean_required")
        return AgentRule(self.ceiling(given), critical if isinstance(critical, bool) else None)

    def category(self, given: Fields) -> Urgency | None:
        given.refuse_unknown(("ceiling",))
        return self.ceiling(given)

    def step(self, path: str, value: Any) -> EscalationStep | None:
        given = Fields(value, path, self._given.complaints)
        given.refuse_unknown(("id", "after_seconds", "channel", "person"))
        after = self.whole("after_seconds", given, 0, 7 * _DAY_SECONDS)
        if not given.has("after_seconds"):
            given.complain("after_seconds", "is required", "required")
        if given.has("channel") == given.has("person"):
            given.complain(None, "needs either a channel or a person", "required")
            return None
        named = given.optional_text("id", maximum=_NAME)
        channel = self.channel(given.path("channel"), given.raw("channel")) if given.has("channel") else None
        person = self._someone(given.path("person"), given.raw("person")) if given.has("person") else None
        derived = f"channel:{channel}" if channel else f"person:{person}"
        return EscalationStep(named or derived, after or 0, channel, person, named=named is not None)

    def _someone(self, path: str, value: Any) -> str | None:
        name = self.name(path, value)
        if name is not None and self._people is not None and name not in self._people:
            self.wrong(path, "is no person or rotation that is known here", "unknown_person")
        if name is not None and name == self._person:
            self.wrong(path, "is the person whose policy this is", "same_person")
        return name

    def channel(self, path: str, value: Any) -> str | None:
        name = self.name(path, value)
        if name is not None and self._channels is not None and name not in self._channels:
            self.wrong(path, "is no channel of this household", "unknown_channel")
        return name

    def name(self, path: str, value: Any) -> str | None:
        if isinstance(value, str) and value.strip() and len(value) <= _NAME:
            return value
        self.wrong(path, f"must be a name of at most {_NAME} characters")
        return None

    def gap(self, path: str, value: Any) -> int | None:
        return self._number(path, value, 30, _DAY_SECONDS)

    def refuse_twice(self, policy: Policy) -> None:
        ids = [step.id for step in policy.escalation or ()]
        for place, one in enumerate(ids):
            if one in ids[:place]:
                self._given.complain(
                    f"escalation.{place}", f"has the id {one} of an earlier step: give it its own", "duplicate"
                )


# -- What counts for one person: the household's policy and the person's own, made one --

THREE_SLOTS: Final = (time(8), time(12, 30), time(18))
_MANDATORY: Final = ("security", "approvals")
_REPEATS: Final = (300, 600, 1200, 2400, 3600)
_DEFAULT_MOST: Final = 20
_EXPIRES_SECONDS: Final = 72 * 3600
_HOUR: Final = 3600
LONGEST_HOLD_US: Final = {
    Urgency.PASSIVE: seconds(24 * _HOUR),
    Urgency.NORMAL: seconds(14 * _HOUR),
    Urgency.TIME_SENSITIVE: seconds(10 * _HOUR),
    Urgency.CRITICAL: 0,
}
_NOT_COLLECTED: Final = Collecting(0, _DEFAULT_MOST)
_NO_LIMIT: Final = Budget()
_CALM: Final = Policy(
    slots=THREE_SLOTS,
    collect=Collecting(600, _DEFAULT_MOST),
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
    repeat_seconds: tuple[int, ...] = _REPEATS
    duplicate_seconds: int = 0
    expires_seconds: int | None = None
    mandatory: tuple[str, ...] = _MANDATORY

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
        if self.expires_seconds is None or rank(self.urgency(notice)) > rank(Urgency.NORMAL):
            return None
        return notice.created_us + seconds(self.expires_seconds)

    def written(self) -> Document:
        """As a policy that says all of it."""
        same = {name: getattr(self, name) for name in KEYS if name not in ("preset", "agents", "categories")}
        agents, categories = tuple(self.agents.items()), tuple(self.categories.items())
        return policy_mapping(Policy(**same, agents=agents, categories=categories))


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

    def with_own(self, person: str, policy: Policy | None) -> PolicyBook:
        """With this as the person's own; None: they have none."""
        others = {name: one for name, one in self.people.items() if name != person}
        return replace(self, people={**others, person: policy} if policy is not None else others)

    def number(self, people: Iterable[str]) -> int:
        """The same in every process for the same wishes of these people."""
        written = [f"{one} {self.rules(one).hash} {self.rules(one).zone}" for one in sorted(people)]
        return int.from_bytes(sha256("\n".join(written).encode()).digest()[:7])

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
        collect=Collecting(collect.window_seconds, collect.most or _DEFAULT_MOST),
        budget=Budget(_least(scopes, "per_hour"), _least(scopes, "per_day")),
        ceiling=min((scope.ceiling for scope in scopes if scope.ceiling), key=rank, default=Urgency.CRITICAL),
        agents=_agents(scopes),
        categories=_categories(scopes),
        escalation=_first(scopes, "escalation") or (),
        fallback=_first(scopes, "fallback") or (),
        repeat_seconds=_REPEATS if (repeats := _first(scopes, "repeat_seconds")) is None else repeats,
        duplicate_seconds=_first(scopes, "duplicate_seconds") or 0,
        expires_seconds=_EXPIRES_SECONDS if expires is None else expires,
        mandatory=_mandatory(scopes),
    )


def _with_preset(policy: Policy) -> Policy:
    """A preset fills what its own scope leaves open."""
    if policy.preset is None:
        return policy
    filling = _PRESETS[policy.preset]
    return replace(policy, **{name: getattr(filling, name) for name in KEYS if getattr(policy, name) is None})


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
    return tuple(dict.fromkeys(name for one in written for name in one)) if written else _MANDATORY
