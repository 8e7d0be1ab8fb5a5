"""What another policy would have changed, in words."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.work.attention.sample import NIGHT, accepted, at, book, empty
from tests.work.attention.test_decide import run

from postroom.work.attention.difference import difference
from postroom.work.attention.simulate import simulate

FACTS = [accepted("a", "09:00"), accepted("b", "09:01"), accepted("c", "09:02"), accepted("d", "09:03")]


@pytest.mark.requirement("attention:difference")
def test_the_difference_is_counted_and_timed() -> None:
    before, after = run(book({}), *FACTS), run(book({"collect": {"window_seconds": 600}}), *FACTS)

    assert difference(before, after) == ("2 fewer interruptions", "3 notices later, by 9 min at most")
    assert difference(after, before) == ("2 more interruptions", "3 notices earlier, by 9 min at most")


@pytest.mark.requirement("attention:difference")
def test_what_is_no_longer_sent_is_said() -> None:
    facts = [accepted("a", "23:00", expires_us=FACTS[0].at_us + 15 * 3_600_000_000)]

    assert difference(run(book({}), *facts), run(book({"quiet_hours": NIGHT}), *facts)) == (
        "1 fewer interruption",
        "1 more expired notice",
        "1 notice no longer sent",
    )


@pytest.mark.requirement("attention:difference")
def test_what_is_held_or_merged_is_not_called_no_longer_sent() -> None:
    facts = [accepted("a", "23:00"), accepted("b", "23:01", "passive"), accepted("c", "23:02"), accepted("d", "23:03")]
    quiet = book({"quiet_hours": NIGHT, "slots": ["08:00"], "zone": "Europe/Vienna", "duplicate_seconds": 600})
    same = [replace(one, notice=replace(one.notice, fingerprint="x")) for one in facts[2:]]
    until_us = at("23:30")
    before, after = (simulate([*facts[:2], *same], one, state=empty(), until_us=until_us) for one in (book({}), quiet))
    said = difference(before, after, "Europe/Vienna")
    assert said[-3:] == (
        "2 notices held until Tue 06 Jan 07:00",
        "1 notice part of a digest until Tue 06 Jan 08:00",
        "1 notice merged into another",
    )


def test_the_same_policy_makes_no_difference() -> None:
    assert difference(run(book({}), *FACTS), run(book({}), *FACTS)) == ()
