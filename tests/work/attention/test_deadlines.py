"""A question's deadline does not run out while the person is not shown it."""

from __future__ import annotations

import pytest
from tests.work.attention.sample import NIGHT, PERSON, at, book

from postroom.domain.question import Urgency
from postroom.work.attention.deadlines import open_deadline, shown_at

RULES = book({"quiet_hours": NIGHT, "let_pass": ["time_sensitive"]}).rules(PERSON)


@pytest.mark.requirement("attention:questions-wait")
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


@pytest.mark.requirement("attention:questions-wait")
def test_what_passes_quiet_hours_keeps_its_deadline() -> None:
    assert open_deadline(RULES, Urgency.TIME_SENSITIVE, at("23:00"), at("23:30")) == at("23:30")
    assert shown_at(RULES, Urgency.TIME_SENSITIVE, at("23:00")) == at("23:00")
