"""When questions are shown: the same policy as for notices."""

from __future__ import annotations

from typing import Any

import pytest
from tests.attention.attended import Names
from tests.attention.sample import NIGHT, PERSON, at, book
from tests.clock import FakeClock

from postroom.attention.attention import QuestionTimes, open_deadline, shown_at
from postroom.attention.rules.policy import parse_policy
from postroom.attention.state import encoded
from postroom.attention.turn import NoticeBook
from postroom.message.wishes import Urgency

MINUTE = 60_000_000
RULES = book({"quiet_hours": NIGHT, "let_pass": ["time_sensitive"]}).rules(PERSON)
EVENING, MORNING = at("23:00"), at("2026-01-06T07:00")
pytestmark = pytest.mark.requirement("attention:questions-wait")


class Policies:
    def __init__(self, people: dict[str, str | None]) -> None:
        self._people = people

    async def policies(self) -> dict[str, str | None]:
        return self._people

    async def zones(self) -> dict[str, str]:
        return {}


def times(household: dict[str, Any] | None = None, **people: dict[str, Any]) -> QuestionTimes:
    written = {name: encoded(parse_policy(one)) for name, one in people.items()}
    policy = parse_policy(household) if household is not None else None
    store: Any = Policies(dict(written))
    return QuestionTimes(book=NoticeBook(store=store, people=Names(), clock=FakeClock(), household=policy))


async def test_without_a_policy_it_is_shown_at_once_and_ends_as_asked() -> None:
    none = times()
    assert await none.shown_at("owner", "butler:health", Urgency.NORMAL, EVENING) == EVENING
    until = await none.deadline(["owner"], "butler:health", Urgency.NORMAL, asked_us=EVENING, deadline_us=EVENING + 1)
    assert until == EVENING + 1


async def test_in_quiet_hours_it_waits_for_their_end_and_its_time_stands_still() -> None:
    quiet = times({"quiet_hours": NIGHT})
    assert await quiet.shown_at("owner", "butler:health", Urgency.NORMAL, EVENING) == MORNING
    asked = {"asked_us": EVENING, "deadline_us": EVENING + 10 * MINUTE}
    assert await quiet.deadline(["owner"], "butler:health", Urgency.NORMAL, **asked) == MORNING + 10 * MINUTE


async def test_of_several_people_the_one_who_sees_it_first_counts() -> None:
    quiet = times(owner={"quiet_hours": NIGHT})
    asked = {"asked_us": EVENING, "deadline_us": EVENING + 10 * MINUTE}
    until = await quiet.deadline(["owner", "ann"], "butler:health", Urgency.NORMAL, **asked)
    assert until == EVENING + 10 * MINUTE


async def test_what_passes_is_what_the_person_lets_pass_and_no_asker_names_itself_critical() -> None:
    quiet = times({"quiet_hours": NIGHT, "let_pass": ["time_sensitive"], "agents": {"alarm": {"critical": True}}})
    shown = {
        (asker, urgency): await quiet.shown_at("owner", f"butler:{asker}", urgency, EVENING)
        for asker in ("alarm", "health")
        for urgency in (Urgency.NORMAL, Urgency.TIME_SENSITIVE)
    }
    assert set(shown.values()) == {EVENING, MORNING} and shown["health", Urgency.TIME_SENSITIVE] == EVENING
    strict = times({"quiet_hours": NIGHT, "agents": {"alarm": {"critical": True}}})
    assert await strict.shown_at("owner", "butler:alarm", Urgency.CRITICAL, EVENING) == EVENING
    assert await strict.shown_at("owner", "butler:health", Urgency.CRITICAL, EVENING) == MORNING


@pytest.mark.parametrize(
    ("asked", "deadline", "shown", "ends"),
    [
        ("12:00", "13:00", "12:00", "13:00"),
        ("23:00", "23:30", "2026-01-06T07:00", "2026-01-06T07:30"),
        ("21:50", "22:20", "21:50", "2026-01-06T07:20"),
    ],
)
def test_quiet_time_does_not_count(asked: str, deadline: str, shown: str, ends: str) -> None:
    assert shown_at(RULES, Urgency.NORMAL, at(asked)) == at(shown)
    assert open_deadline(RULES, Urgency.NORMAL, at(asked), at(deadline)) == at(ends)


def test_what_passes_quiet_hours_keeps_its_deadline() -> None:
    assert open_deadline(RULES, Urgency.TIME_SENSITIVE, at("23:00"), at("23:30")) == at("23:30")
    assert shown_at(RULES, Urgency.TIME_SENSITIVE, at("23:00")) == at("23:00")
