"""A digest is frozen, sorted, and counts what it does not show."""

from __future__ import annotations

import pytest
from tests.work.attention.sample import at, notice

from postroom.domain.question import Urgency
from postroom.work.attention.digest import Digest, Member, frozen, render


def made(count: int, *, channel: str = "telegram", round: int = 0, late: int = 0) -> Digest:
    members = [
        Member(notice=notice(f"n{n:02}", at("09:00") + n, text=f"line\n{n}"), urgency=Urgency.NORMAL, round=round)
        for n in range(count)
    ]
    return frozen(members, person="ada", channel=channel, zone="UTC", at_us=at("10:00") + late, due_us=at("10:00"))


@pytest.mark.requirement("attention:digest")
def test_the_highest_urgency_comes_first_and_then_the_oldest() -> None:
    given = [("a", "passive"), ("b", "time_sensitive"), ("c", "normal"), ("d", "time_sensitive")]
    members = [Member(notice=notice(name, "09:00"), urgency=Urgency(urgency), round=0) for name, urgency in given]

    assert frozen(members, person="ada", channel="c", zone="UTC", at_us=0, due_us=0).members == ("b", "d", "c", "a")


@pytest.mark.requirement("attention:digest")
def test_it_shows_ten_and_counts_all() -> None:
    lines = render(made(13)).splitlines()

    assert (lines[0], lines[1], lines[-1], len(lines)) == ("13 notices", "• cook: line 0", "and 3 more", 12)


@pytest.mark.requirement("attention:digest")
def test_one_that_shows_all_speaks_of_no_more() -> None:
    assert "more" not in render(made(10))


@pytest.mark.requirement("attention:digest")
def test_its_id_is_that_of_its_members_and_its_way() -> None:
    ids = {made(2).id, made(3).id, made(2, channel="email").id, made(2, round=1).id}

    assert len(ids) == 4
    assert made(2).id == made(2, late=5).id


def test_one_that_is_late_says_so() -> None:
    assert render(made(2, late=15 * 60 * 1_000_000)).startswith("2 notices, later than planned")
