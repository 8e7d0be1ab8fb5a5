"""Policy tests: facts, and what a policy is expected to make of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from postroom.domain.attention import URGENCIES, AcceptedNotice, derived_id
from postroom.domain.fields import Fields
from postroom.domain.question import Urgency
from postroom.domain.record import altered
from postroom.domain.time import seconds, to_text, to_us
from postroom.domain.wall_clock import instant, known_zone
from postroom.domain.zone import is_zone
from postroom.work.attention import facts as fact
from postroom.work.attention.decisions import Decision, DecisionKind
from postroom.work.attention.policy import Policy
from postroom.work.attention.policy_request import parse_policy
from postroom.work.attention.rules import PolicyBook
from postroom.work.attention.simulate import simulate
from postroom.work.attention.state import AttentionState

PERSON: Final = "person"
_LABELS: Final = ("category", "thread", "source", "parent")
_NOTICE: Final = (
    *("at", "notice", "agent", "urgency", "message", "channel"),
    *("needs_ack", "supersedes", "expires_in_seconds"),
    *_LABELS,
)
_ACTS: Final = ("ack", "read", "withdraw", "snooze", "mute", "unmute", "down", "up")


@dataclass(frozen=True, slots=True)
class Expectation:
    notice: str
    decision: DecisionKind
    at_us: int | None
    until_us: int | None


@dataclass(frozen=True, slots=True)
class PolicyCase:
    name: str
    zone: str
    policy: Policy
    facts: tuple[fact.Fact, ...]
    expect: tuple[Expectation, ...]


@dataclass(frozen=True, slots=True)
class CaseResult:
    """`problems` is empty when the policy did all that was expected."""

    name: str
    problems: tuple[str, ...]


def parse_cases(payload: object) -> tuple[PolicyCase, ...]:
    """`{"cases": [{name, zone, policy, facts, expect}]}`; raises ValidationError, naming every field as written."""
    given = Fields(payload, whole="file")
    given.refuse_unknown(("cases",))
    cases = given.raw("cases")
    if not isinstance(cases, list) or not cases:
        given.complain("cases", "must be a list of cases", "list_required")
        cases = []
    read = tuple(_Case(Fields(one, f"cases.{n}", given.complaints)).read() for n, one in enumerate(cases))
    given.finish()
    return read


def run_case(case: PolicyCase) -> CaseResult:
    book = PolicyBook(people={PERSON: case.policy})
    made = simulate(case.facts, book, state=AttentionState(person=PERSON)).decisions
    return CaseResult(case.name, tuple(problem for one in case.expect if (problem := _problem(one, made))))


def _problem(expected: Expectation, made: tuple[Decision, ...]) -> str | None:
    mine = [one for one in made if one.notice == expected.notice]
    same = [one for one in mine if one.kind is expected.decision]
    if any(expected.at_us in (None, one.at_us) and expected.until_us in (None, one.until_us) for one in same):
        return None
    wanted = _said(expected.decision, expected.at_us, expected.until_us)
    got = "; ".join(_said(one.kind, one.at_us, one.until_us) for one in mine) or "nothing"
    return f"{expected.notice}: expected {wanted}, got {got}"


def _said(kind: DecisionKind, at_us: int | None, until_us: int | None) -> str:
    at = f" at {to_text(at_us)}" if at_us is not None else ""
    return f"{kind}{at}" + (f" until {to_text(until_us)}" if until_us is not None else "")


class _Case:
    """One case, read with the complaints of the whole file."""

    def __init__(self, given: Fields) -> None:
        self.given = given
        given.refuse_unknown(("name", "zone", "policy", "facts", "expect"))
        self.zone = given.optional_text("zone", maximum=200) or "UTC"
        if not is_zone(self.zone):
            given.complain("zone", "is no known time zone, such as Europe/Vienna", "unknown_zone")

    def read(self) -> PolicyCase:
        name = self.given.text("name", maximum=200)
        facts = tuple(found for one in self._each("facts") if (found := self._fact(one)) is not None)
        expect = tuple(one for given in self._each("expect") if (one := self._expectation(given)) is not None)
        return PolicyCase(name, self.zone, self._policy(), facts, expect)

    def _policy(self) -> Policy:
        written = self.given.raw("policy")
        written = {"zone": self.zone, **written} if isinstance(written, Mapping) and is_zone(self.zone) else written
        return parse_policy(written, path=self.given.path("policy"), complaints=self.given.complaints)

    def _each(self, name: str) -> list[Fields]:
        value = self.given.raw(name)
        if not isinstance(value, list):
            self.given.complain(name, "must be a list", "list_required")
            return []
        path = self.given.path(name)
        return [Fields(one, f"{path}.{n}", self.given.complaints) for n, one in enumerate(value)]

    def _moment(self, given: Fields, name: str) -> int | None:
        """With an offset, or a wall clock time in the zone of the case."""
        value = given.raw(name)
        text = value.isoformat() if isinstance(value, datetime) else value
        try:
            wall = datetime.fromisoformat(text)
            if wall.tzinfo is not None:
                return to_us(wall)
            return to_us(instant(wall.date(), wall.time(), known_zone(self.zone), last=False))
        except (TypeError, ValueError):
            given.complain(name, "must be a day and a time such as 2026-01-05T22:30", "invalid")
            return None

    def _fact(self, given: Fields) -> fact.Fact | None:
        at = self._moment(given, "at")
        act = next((name for name in _ACTS if given.has(name)), None)
        given.refuse_unknown(_NOTICE if act is None else ("at", act, "until", "agent"))
        if at is None:
            return None
        return self._act(given, act, at) if act is not None else self._notice(given, at)

    def _notice(self, given: Fields, at: int) -> fact.NoticeAccepted:
        name, agent = given.text("notice", maximum=200), given.optional_text("agent", maximum=200) or "agent"
        text, expires = given.optional_text("message", maximum=10_000) or "", given.raw("expires_in_seconds")
        if expires is not None and (isinstance(expires, bool) or not isinstance(expires, int) or expires < 1):
            given.complain("expires_in_seconds", "must be a whole number above 0", "out_of_range")
            expires = None
        needs_ack = given.raw("needs_ack")
        if needs_ack not in (None, True, False):
            given.complain("needs_ack", "must be true or false", "boolean_required")
        notice = AcceptedNotice(
            id=name,
            person=PERSON,
            agent=agent,
            created_us=at,
            channel=given.optional_text("channel", maximum=200) or "own",
            text=text,
            urgency=Urgency(given.choice("urgency", URGENCIES, default="normal") or "normal"),
            needs_ack=needs_ack is True,
            expires_us=at + seconds(expires) if expires is not None else None,
            fingerprint=derived_id(agent, " ".join(text.casefold().split())) if text else "",
            key=given.optional_text("supersedes", maximum=200),
        )
        labels = {label: given.optional_text(label, maximum=200) for label in _LABELS}
        return fact.NoticeAccepted(at_us=at, notice=altered(notice, **labels))

    def _act(self, given: Fields, act: str, at: int) -> fact.Fact | None:
        name = given.text(act, maximum=200)
        until = self._moment(given, "until") if given.has("until") else None
        match act:
            case "ack":
                return fact.Acked(at_us=at, notice=name, by=PERSON)
            case "read":
                return fact.Read(at_us=at, notice=name)
            case "withdraw":
                return fact.Withdrawn(at_us=at, agent=given.optional_text("agent", maximum=200) or "agent", notice=name)
            case "snooze":
                return fact.Snoozed(at_us=at, notice=name, until_us=until)
            case "mute":
                return fact.Muted(at_us=at, agent=name, until_us=until)
            case "unmute":
                return fact.Unmuted(at_us=at, agent=name)
            case "down":
                return fact.ChannelDown(at_us=at, channel=name)
            case _:
                return fact.ChannelUp(at_us=at, channel=name)

    def _expectation(self, given: Fields) -> Expectation | None:
        given.refuse_unknown(("notice", "decision", "at", "until"))
        at, until = (self._moment(given, name) if given.has(name) else None for name in ("at", "until"))
        chosen = given.choice("decision", tuple(DecisionKind))
        name = given.text("notice", maximum=200)
        return Expectation(name, DecisionKind(chosen), at, until) if chosen else None
