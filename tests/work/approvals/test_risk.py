"""Risk tiers."""

from __future__ import annotations

import pytest
from tests.work.approvals.parked import content

from postroom.domain.delivery import Intent
from postroom.domain.risk_and_urgency import Risk
from postroom.work.approvals.risk import RiskPolicy, risk_of

POLICY = RiskPolicy(by_channel={"email": Risk.CRITICAL})


@pytest.mark.parametrize(
    ("changes", "risk"),
    [
        pytest.param({}, Risk.MEDIUM, id="by default"),
        pytest.param({"channel": "email"}, Risk.CRITICAL, id="as the household says"),
        pytest.param({"intent": Intent.REACT, "emoji": "👍", "message": ""}, Risk.LOW, id="a reaction"),
        pytest.param({"channel": "email", "intent": Intent.REACT}, Risk.CRITICAL, id="never below a high tier"),
        pytest.param({"message": "abc\u202e"}, Risk.HIGH, id="hidden direction"),
        pytest.param({"subject": "p\u0430ypal"}, Risk.HIGH, id="look-alike in the subject"),
        pytest.param({"channel": "email", "message": "a\u200bb"}, Risk.CRITICAL, id="never lowered"),
    ],
)
def test_the_tier_of_a_message(changes: dict[str, object], risk: Risk) -> None:
    assert risk_of(content(**changes), POLICY) is risk
