"""What one event concerns is all that has to be looked at: the simulation says what one over everything says."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, settings
from tests.attention.histories import History, histories
from tests.attention.sample import DAY, empty
from tests.attention.whole_simulation import simulate_whole

from postroom.attention.rules.policy import PolicyBook, parse_policy
from postroom.attention.rules.simulate import simulate

HISTORIES = int(os.environ.get("POSTROOM_HISTORIES", "100"))


@pytest.mark.requirement("attention:oracle-agrees")
@settings(max_examples=HISTORIES, deadline=None, suppress_health_check=list(HealthCheck))
@given(histories())
@pytest.mark.timeout(7200)
def test_cut_to_what_each_event_concerns_the_run_is_the_same(history: History) -> None:
    book = PolicyBook(people={name: parse_policy(one) for name, one in history.policies.items()})
    until_us = max(one.at_us for one in history.facts) + 2 * DAY

    cut = simulate(history.facts, book, state=empty(), until_us=until_us)
    whole = simulate_whole(history.facts, book, state=empty(), until_us=until_us)

    assert cut.events == whole.events
    assert cut.state == whole.state
