"""Notices and policies for tests, in as few words as they need."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from postroom.attention.model import Decision
from postroom.attention.rules import decide
from postroom.attention.rules.policy import PolicyBook, parse_policy
from postroom.attention.rules.simulate import SimulatedRun, simulate
from postroom.attention.state import AttentionState, Fact, NoticeAccepted
from postroom.kernel.values.ids import seconds, to_us
from postroom.message.wishes import AcceptedNotice, Urgency

PERSON = "ada"
OTHER = "grace"
MINUTE = seconds(60)
HOUR = 60 * MINUTE
DAY = 24 * HOUR
NIGHT = [{"from": "22:00", "until": "07:00"}]


def at(text: str, zone: str = "UTC", fold: int = 0) -> int:
    """A wall clock time; a short one such as 09:30 is on Monday, 2026-01-05."""
    whole = text if "-" in text else f"2026-01-05T{text}"
    return to_us(datetime.fromisoformat(whole).replace(tzinfo=ZoneInfo(zone), fold=fold))


def notice(name: str, moment: int | str, urgency: str = "normal", **fields: Any) -> AcceptedNotice:
    created = at(moment) if isinstance(moment, str) else moment
    standard: dict[str, Any] = {"agent": "cook", "channel": "telegram", "text": f"text of {name}", "fingerprint": name}
    return AcceptedNotice(
        id=name, person=PERSON, created_us=created, urgency=Urgency(urgency), **{**standard, **fields}
    )


def accepted(name: str, moment: int | str, urgency: str = "normal", **fields: Any) -> NoticeAccepted:
    made = notice(name, moment, urgency, **fields)
    return NoticeAccepted(at_us=made.created_us, notice=made)


def book(policy: dict[str, Any] | None = None, household: dict[str, Any] | None = None, **others: Any) -> PolicyBook:
    people = {name: parse_policy(one) for name, one in others.items()}
    if policy is not None:
        people[PERSON] = parse_policy(policy)
    return PolicyBook(household=parse_policy(household) if household is not None else None, people=people)


def empty() -> AttentionState:
    return AttentionState(person=PERSON)


def unaccounted(
    state: AttentionState, rules: PolicyBook, log: Sequence[Fact | Decision], start: AttentionState, now_us: int
) -> list[str]:
    """Everything that breaks a law; it must be empty."""
    late = decide.every_open_notice_has_a_next(state, rules, now_us)
    return decide.kept(state, rules, log, start, now_us) + decide.the_log_is_the_state(state, log, start) + late


# What the engine makes of them, and how that is read.

Told = list[tuple[str, str, str]]


def run(rules: PolicyBook, *facts: Any, **options: Any) -> SimulatedRun:
    return simulate(facts, rules, state=empty(), **options)


def log(happened: SimulatedRun, *kinds: str) -> Told:
    """Notice, decision and time of day."""
    made = [one for one in happened.decisions if not kinds or one.kind in kinds]
    return [(one.notice, str(one.kind), _clock(one.at_us)) for one in made]


def _clock(us: int) -> str:
    day, rest = divmod(us - at("00:00"), DAY)
    return f"{rest // HOUR:02}:{rest % HOUR // MINUTE:02}" + (f"+{day}" if day else "")


def why(happened: SimulatedRun, name: str) -> list[list[tuple[str, str | None]]]:
    mine = [one for one in happened.decisions if one.notice == name]
    return [[(str(r.reason), _clock(r.until_us) if r.until_us else None) for r in one.reasons] for one in mine]


def states(happened: SimulatedRun) -> dict[str, str]:
    return {name: str(one.state) for name, one in happened.state.notices.items()}
