"""A file of cases says of each whether the policy did what was expected."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from postroom.domain.errors import ValidationError
from postroom.work.attention.policy_cases import parse_cases, run_case

FILE = """
[[cases]]
name = "the night is quiet"
zone = "Europe/Vienna"
policy = { quiet_hours = [{ from = "22:00", until = "07:00" }], slots = ["12:30"] }
facts = [
  { at = 2026-01-05T23:00:00, notice = "a", agent = "cook", urgency = "normal", thread = "soup", message = "It burns" },
  { at = "2026-01-05T22:30:00Z", notice = "b", agent = "cook", urgency = "passive", message = "It is Monday" },
  { at = "2026-01-06T08:00", mute = "cook" },
]
expect = [
  { notice = "a", decision = "hold", until = "2026-01-06T07:00" },
  { notice = "a", decision = "release", at = "2026-01-06T07:00" },
  { notice = "b", decision = "join_digest", until = 2026-01-06T12:30:00+01:00 },
  { notice = "b", decision = "mute" },
]
"""


@pytest.mark.requirement("attention:policy-tests")
def test_a_policy_that_does_what_is_expected_has_no_problems() -> None:
    (case,) = parse_cases(tomllib.loads(FILE))

    assert run_case(case).problems == ()


@pytest.mark.requirement("attention:policy-tests")
def test_what_differs_is_said_with_what_happened() -> None:
    (case,) = parse_cases(
        tomllib.loads(FILE.replace('"release", at = "2026-01-06T07:00"', '"release", at = "2026-01-06T08:00"'))
    )

    assert run_case(case).problems == (
        "a: expected release at 2026-01-06T07:00:00.000000Z, got hold at 2026-01-05T22:00:00.000000Z until "
        "2026-01-06T06:00:00.000000Z; release at 2026-01-06T06:00:00.000000Z",
    )


@pytest.mark.requirement("attention:policy-tests")
@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"policy": {"slot": []}}, "cases.0.policy.slot"),
        ({"policy": {"slots": ["8"]}}, "cases.0.policy.slots.0"),
        ({"policy": None}, "cases.0.policy"),
        ({"zone": "Vienna"}, "cases.0.zone"),
        ({"name": ""}, "cases.0.name"),
        ({"facts": [{"notice": "a"}]}, "cases.0.facts.0.at"),
        ({"facts": [{"at": "2026-01-06T08:00", "notice": "a", "urgency": "loud"}]}, "cases.0.facts.0.urgency"),
        ({"facts": [{"at": "2026-01-06T08:00", "notice": "a", "colour": "red"}]}, "cases.0.facts.0.colour"),
        ({"expect": [{"notice": "a", "decision": "shout"}]}, "cases.0.expect.0.decision"),
        ({"expect": {}}, "cases.0.expect"),
        ({"other": 1}, "cases.0.other"),
    ],
)
def test_what_is_wrong_is_named_as_it_was_written(change: dict[str, Any], field: str) -> None:
    sound = {"name": "n", "zone": "UTC", "policy": {}, "facts": [], "expect": []}

    with pytest.raises(ValidationError) as refused:
        parse_cases({"cases": [{**sound, **change}]})

    assert field in [one.field for one in refused.value.fields]


def test_a_file_without_cases_is_refused() -> None:
    with pytest.raises(ValidationError):
        parse_cases({})
