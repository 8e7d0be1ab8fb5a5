"""The engine against an oracle that is slow and simple, and against cases of others."""

from __future__ import annotations

import os
import tomllib
from datetime import datetime, time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from tests.attention.histories import History, engine, histories
from tests.attention.sample import PERSON
from tests.attention.slow_oracle import US, Oracle

from postroom.attention.model import Decision, DecisionKind, QuietWindow
from postroom.attention.rules.policy import parse_policy
from postroom.attention.rules.times import next_slot, quiet_until
from postroom.kernel.values.errors import ValidationError
from postroom.kernel.values.ids import to_us
from postroom.message.wishes import Because

# -- The engine and the oracle that wakes every minute agree on random histories --


HISTORIES = int(os.environ.get("POSTROOM_HISTORIES", "100"))  # ten thousand in the long run


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


# -- Cases of other systems, run as data; where we decided otherwise the data says so --


DATA = tomllib.loads((Path(__file__).parent / "outside_cases.toml").read_text())


def moment(text: str) -> int:
    return to_us(datetime.fromisoformat(text))


def quiet_hours(case: dict[str, Any]) -> tuple[QuietWindow, ...]:
    return parse_policy({"quiet_hours": case.get("windows") or [case["window"]]}).quiet_hours or ()


@pytest.mark.requirement("attention:outside-cases")
@pytest.mark.parametrize("case", DATA["windows"], ids=lambda case: case["source"])
def test_a_moment_is_inside_a_window_or_not(case: dict[str, Any]) -> None:
    windows = quiet_hours(case)

    assert [text for text in case["inside"] if quiet_until(windows, case["zone"], moment(text)) is None] == []
    assert [text for text in case["outside"] if quiet_until(windows, case["zone"], moment(text)) is not None] == []


@pytest.mark.requirement("attention:outside-cases")
@pytest.mark.parametrize("case", DATA["until"], ids=lambda case: case["source"])
def test_quiet_ends_when_it_ends_there(case: dict[str, Any]) -> None:
    windows, zone = quiet_hours(case), case["zone"]

    assert {at: quiet_until(windows, zone, moment(at)) for at in case["ends"]} == {
        at: moment(end) for at, end in case["ends"].items()
    }
    assert [at for at in case["free"] if quiet_until(windows, zone, moment(at)) is not None] == []


@pytest.mark.requirement("attention:outside-cases")
@pytest.mark.parametrize("case", DATA["pairs"], ids=lambda case: f"{case['from']}-{case.get('until')}")
def test_a_pair_of_times_is_accepted_or_refused(case: dict[str, Any]) -> None:
    assert is_accepted({name: case[name] for name in ("from", "until") if name in case}) == case["accepted"]


@pytest.mark.requirement("attention:outside-cases")
@pytest.mark.parametrize("case", DATA["days"], ids=lambda case: case["source"])
def test_names_of_days_are_accepted_or_refused(case: dict[str, Any]) -> None:
    assert is_accepted({"from": "09:00", "until": "17:00", "days": case["days"]}) == case["accepted"]


def is_accepted(window: dict[str, Any]) -> bool:
    try:
        parse_policy({"quiet_hours": [window]})
    except ValidationError:
        return False
    return True


@pytest.mark.requirement("attention:outside-cases")
@pytest.mark.parametrize("case", DATA["slots"], ids=lambda case: case["source"])
def test_slots_follow_each_other_over_a_clock_change(case: dict[str, Any]) -> None:
    slots, at, found = tuple(time.fromisoformat(one) for one in case["slots"]), moment(case["after"]), []
    while len(found) < len(case["next"]):
        at = next_slot(slots, (), case["zone"], at, {}) or 0
        found.append(at)

    assert found == [moment(text) for text in case["next"]]


@pytest.mark.requirement("attention:outside-cases")
def test_every_difference_is_listed() -> None:
    tables = [case for name in ("windows", "pairs", "days", "slots") for case in DATA[name] if "differs" in case]

    assert len(tables) == 14
    assert all(one["cases"] and one["reason"] for one in DATA["left_out"])
