from __future__ import annotations

import json

import pytest

from postroom.domain.errors import PostroomError, ProviderThrottled, TargetUnavailable, ValidationError
from postroom.world.calendar.refusals import (
    EventChanged,
    EventExists,
    EventMissing,
    LoginExpired,
    NotNow,
    reason_of,
    refusal,
)


@pytest.mark.parametrize(
    ("status", "reason", "meaning"),
    [
        (400, "invalid", ValidationError),
        (401, "authError", LoginExpired),
        (403, "forbidden", ValidationError),
        (403, "rateLimitExceeded", ProviderThrottled),
        (403, "quotaExceeded", ProviderThrottled),
        (404, "notFound", EventMissing),
        (409, "duplicate", EventExists),
        (410, "deleted", EventMissing),
        (412, "conditionNotMet", EventChanged),
        (429, "", ProviderThrottled),
        (500, "backendError", TargetUnavailable),
        (503, "", NotNow),
    ],
)
def test_a_status_and_a_reason_have_one_meaning(status: int, reason: str, meaning: type[PostroomError]) -> None:
    assert type(refusal(status, reason, 2.0)) is meaning


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (json.dumps({"error": {"errors": [{"reason": "rateLimitExceeded"}]}}).encode(), "rateLimitExceeded"),
        (b'{"error": "invalid_grant"}', "invalid_grant"),
        (b'{"error": {"errors": [{"reason": "see https://evil.example"}]}}', ""),
        (b'{"error": "<script>"}', ""),
        (b'{"error": {"errors": []}}', ""),
        (b'{"error": {"errors": "x"}}', ""),
        (b"[]", ""),
        (b"<html>", ""),
        (b"[" * 100_000, ""),
    ],
)
def test_only_a_plain_word_is_a_reason(body: bytes, reason: str) -> None:
    assert reason_of(body) == reason
