"""What another policy would have changed, in words."""

from __future__ import annotations

import pytest
from tests.work.attention.sample import NIGHT, accepted, book
from tests.work.attention.test_decide import run

from postroom.work.attention.difference import difference

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


def test_the_same_policy_makes_no_difference() -> None:
    assert difference(run(book({}), *FACTS), run(book({}), *FACTS)) == ()
