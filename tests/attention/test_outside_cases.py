"""Cases of other systems, run as data; where we decided otherwise the data says so."""

from __future__ import annotations

import tomllib
from datetime import datetime, time
from pathlib import Path
from typing import Any

import pytest

from postroom.attention.model import QuietWindow
from postroom.attention.rules.policy import parse_policy
from postroom.attention.rules.times import next_slot, quiet_until
from postroom.kernel.values.errors import ValidationError
from postroom.kernel.values.ids import to_us

DATA = tomllib.loads((Path(__file__).parent / "outside_cases.toml").read_text())
pytestmark = pytest.mark.requirement("attention:outside-cases")


def moment(text: str) -> int:
    return to_us(datetime.fromisoformat(text))


def quiet_hours(case: dict[str, Any]) -> tuple[QuietWindow, ...]:
    return parse_policy({"quiet_hours": case.get("windows") or [case["window"]]}).quiet_hours or ()


@pytest.mark.parametrize("case", DATA["windows"], ids=lambda case: case["source"])
def test_a_moment_is_inside_a_window_or_not(case: dict[str, Any]) -> None:
    windows = quiet_hours(case)

    assert [text for text in case["inside"] if quiet_until(windows, case["zone"], moment(text)) is None] == []
    assert [text for text in case["outside"] if quiet_until(windows, case["zone"], moment(text)) is not None] == []


@pytest.mark.parametrize("case", DATA["until"], ids=lambda case: case["source"])
def test_quiet_ends_when_it_ends_there(case: dict[str, Any]) -> None:
    windows, zone = quiet_hours(case), case["zone"]

    assert {at: quiet_until(windows, zone, moment(at)) for at in case["ends"]} == {
        at: moment(end) for at, end in case["ends"].items()
    }
    assert [at for at in case["free"] if quiet_until(windows, zone, moment(at)) is not None] == []


@pytest.mark.parametrize("case", DATA["pairs"], ids=lambda case: f"{case['from']}-{case.get('until')}")
def test_a_pair_of_times_is_accepted_or_refused(case: dict[str, Any]) -> None:
    assert is_accepted({name: case[name] for name in ("from", "until") if name in case}) == case["accepted"]


@pytest.mark.parametrize("case", DATA["days"], ids=lambda case: case["source"])
def test_names_of_days_are_accepted_or_refused(case: dict[str, Any]) -> None:
    assert is_accepted({"from": "09:00", "until": "17:00", "days": case["days"]}) == case["accepted"]


def is_accepted(window: dict[str, Any]) -> bool:
    try:
        parse_policy({"quiet_hours": [window]})
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize("case", DATA["slots"], ids=lambda case: case["source"])
def test_slots_follow_each_other_over_a_clock_change(case: dict[str, Any]) -> None:
    slots, at, found = tuple(time.fromisoformat(one) for one in case["slots"]), moment(case["after"]), []
    while len(found) < len(case["next"]):
        at = next_slot(slots, (), case["zone"], at, {}) or 0
        found.append(at)

    assert found == [moment(text) for text in case["next"]]


def test_every_difference_is_listed() -> None:
    tables = [case for name in ("windows", "pairs", "days", "slots") for case in DATA[name] if "differs" in case]

    assert len(tables) == 14
    assert all(one["cases"] and one["reason"] for one in DATA["left_out"])
