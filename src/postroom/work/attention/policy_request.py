"""Read a policy that somebody wrote, with everything that is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from datetime import time
from typing import Any, Final, TypeVar

from postroom.domain.attention import URGENCIES
from postroom.domain.errors import FieldError
from postroom.domain.fields import Fields, printable
from postroom.domain.risk_and_urgency import Urgency
from postroom.domain.zone import is_zone
from postroom.work.attention.policy import (
    DAYS,
    AgentRule,
    Budget,
    Collecting,
    EscalationStep,
    Policy,
    Preset,
    QuietWindow,
)

KEYS: Final = tuple(Policy.__dataclass_fields__)
DAY_SECONDS: Final = 86_400
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
        duplicate_seconds=reader.whole("duplicate_seconds", given, 0, 30 * DAY_SECONDS),
        expires_seconds=reader.whole("expires_seconds", given, 60, 365 * DAY_SECONDS),
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
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            given.complain(name, f"must be a whole number from {least} to {most}", "out_of_range")
            return None
        return value

    def collecting(self) -> Collecting | None:
        if not self._given.has("collect"):
            return None
        given = self._given.nested("collect")
        given.refuse_unknown(("window_seconds", "most"))
        window = self.whole("window_seconds", given, 0, DAY_SECONDS)
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
        after = self.whole("after_seconds", given, 0, 7 * DAY_SECONDS)
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
        if isinstance(value, int) and not isinstance(value, bool) and 30 <= value <= DAY_SECONDS:
            return value
        self.wrong(path, f"must be a whole number from 30 to {DAY_SECONDS}", "out_of_range")
        return None

    def refuse_twice(self, policy: Policy) -> None:
        ids = [step.id for step in policy.escalation or ()]
        for place, one in enumerate(ids):
            if one in ids[:place]:
                self._given.complain(
                    f"escalation.{place}", f"has the id {one} of an earlier step: give it its own", "duplicate"
                )
