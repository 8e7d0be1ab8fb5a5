"""Who is named in policies, rotations and absences."""

from __future__ import annotations

from datetime import datetime

import pytest
from tests.attention.attended import Names

from postroom.attention.attention import in_absences, in_policy, in_rotations, missing
from postroom.attention.rules.policy import Absence, parse_policy
from postroom.attention.rules.times import Rotation

pytestmark = pytest.mark.requirement("attention:people-exist")
DUTY = {
    "duty": Rotation(
        anchor=datetime(2026, 1, 5, 9), zone="UTC", every_days=7, people=("ann", "bob"), overrides=((0, 1, "eve"),)
    )
}
CHAIN = [{"after_seconds": 60, "person": one} for one in ("ann", "duty", "carl")]


async def test_each_is_named_by_the_field_it_stands_in() -> None:
    policy = parse_policy({"escalation": [*CHAIN, {"after_seconds": 60, "channel": "email"}]})
    named = [*in_policy(policy, DUTY, "attention."), *in_rotations(DUTY, "attention.rotations.")]
    named += in_absences([Absence(start_us=0, end_us=1, delegate="dora")], "away.")
    assert [one.field for one in await missing(Names(), named)] == [
        "attention.escalation.2.person",
        "attention.rotations.duty.people.1",
        "attention.rotations.duty.overrides.0.person",
        "away.delegate",
    ]


async def test_without_a_policy_no_one_is_named() -> None:
    assert list(in_policy(None, DUTY)) == []
