"""The engine and the oracle that wakes every minute agree on random histories."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from tests.attention.histories import History, histories
from tests.attention.sample import DAY, PERSON, empty
from tests.attention.slow_oracle import US, Oracle

from postroom.attention.model import Decision, DecisionKind
from postroom.attention.rules.policy import PolicyBook, parse_policy
from postroom.attention.rules.simulate import SimulatedRun, simulate
from postroom.message.wishes import Because

HISTORIES = int(os.environ.get("POSTROOM_HISTORIES", "100"))  # ten thousand in the long run
AFTER = 2 * DAY


def engine(history: History) -> tuple[SimulatedRun, int]:
    end = max(one.at_us for one in history.facts) + AFTER
    book = PolicyBook(people={name: parse_policy(one) for name, one in history.policies.items()})
    return simulate(history.facts, book, state=empty(), until_us=end), end


def as_the_oracle_says(decisions: tuple[Decision, ...]) -> list[tuple[Any, ...]]:
    """Without holds, of which the oracle knows none."""
    log: list[tuple[Any, ...]] = []
    for one in decisions:
        minute, where = one.at_us // US, (one.person, one.channel)
        match one.kind:
            case DecisionKind.HOLD | DecisionKind.JOIN_DIGEST:
                continue
            case DecisionKind.CLOSE_DIGEST:
                if one.digest is not None:
                    log.append((minute, "digest", tuple(sorted(one.digest.members)), *where))
            case DecisionKind.RELEASE | DecisionKind.DELEGATE:
                log.append((minute, "release", one.notice, *where))
            case DecisionKind.ESCALATE if one.send is None:
                log.append((minute, "skip", one.notice, one.step))
            case DecisionKind.REPEAT | DecisionKind.ESCALATE | DecisionKind.CORRECT:
                log.append((minute, str(one.kind), one.notice, *where))
            case DecisionKind.MERGE:
                log.append((minute, "merge", one.notice, one.into))
            case _:
                log.append((minute, str(one.kind), one.notice))
    return sorted(set(log), key=repr)


@pytest.mark.requirement("attention:oracle-agrees")
@settings(max_examples=HISTORIES, deadline=None, suppress_health_check=list(HealthCheck))
@given(histories())
@pytest.mark.timeout(7200)
def test_an_oracle_that_asks_every_minute_gives_the_same_log(history: History) -> None:
    run, end = engine(history)
    first = history.start_us // US - 6 * 1440

    slow = Oracle(PERSON, history.policies, first, end // US - first + 14 * 1440).run(history.facts, end // US)

    assert as_the_oracle_says(run.decisions) == sorted(set(slow), key=repr)


@pytest.mark.requirement("attention:until-is-kept")
@settings(max_examples=max(HISTORIES // 2, 60), deadline=None, suppress_health_check=list(HealthCheck))
@given(histories())
@pytest.mark.timeout(7200)
def test_until_is_when_it_goes_on_if_nothing_happens_before(history: History) -> None:
    run, end = engine(history)
    moments = sorted(one.at_us for one in history.facts)

    for place, one in enumerate(run.decisions):
        if one.until_us is None or one.until_us > end:
            continue
        others = sum(one.at_us <= at <= one.until_us for at in moments) - (one.at_us in moments)
        if others or any(reason.reason is Because.BUDGET for reason in one.reasons):
            continue  # something happened, or another notice took what was free of the budget
        after = [later for later in run.decisions[place + 1 :] if later.notice == one.notice]
        assert after
        assert after[0].at_us == one.until_us or after[0].kind is DecisionKind.EXPIRE
