from __future__ import annotations

from typing import Any

import pytest

from postroom.domain.email_copy import Ending, GivenUp, HandedOver, TryAgain
from postroom.domain.notify_response import read_response
from postroom.work.inbox.ending import ending_of

NOW = 1_000_000_000


@pytest.mark.parametrize(
    ("answer", "attempts", "expected"),
    [
        pytest.param({"status": "accepted", "delivery": {"delivery_id": "d1"}}, 0, HandedOver("d1"), id="accepted"),
        pytest.param(
            {"status": "pending_approval", "delivery": {"delivery_id": "d1"}}, 0, HandedOver("d1"), id="asked"
        ),
        pytest.param(
            {"status": "error", "delivery": {"delivery_id": "d1"}, "error": {"class": "timeout"}},
            0,
            HandedOver("d1"),
            id="failed, which is the ledger's affair",
        ),
        pytest.param(
            {"status": "error", "error": {"class": "validation_error", "fields": [{"code": "key_reused"}]}},
            0,
            HandedOver(None),
            id="accepted before in other words",
        ),
        pytest.param(
            {"status": "error", "retryable": False, "error": {"class": "validation_error"}},
            0,
            GivenUp("validation_error"),
            id="never",
        ),
        pytest.param(
            {"status": "error", "retryable": True, "error": {"class": "target_unavailable"}},
            3,
            TryAgain(NOW + 8_000_000, "target_unavailable"),
            id="later each time",
        ),
        pytest.param(
            {"status": "error", "retryable": True, "error": {"class": "overload_rejected", "retry_after_seconds": 42}},
            0,
            TryAgain(NOW + 42_000_000, "overload_rejected"),
            id="as long as it is told",
        ),
        pytest.param(
            {"status": "error", "retryable": True, "error": {"class": "timeout"}},
            99,
            GivenUp("timeout"),
            id="too often",
        ),
    ],
)
def test_how_a_hand_over_ends(answer: dict[str, Any], attempts: int, expected: Ending) -> None:
    assert ending_of(read_response(answer), attempts, NOW) == expected
