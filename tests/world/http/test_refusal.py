from __future__ import annotations

from datetime import UTC, datetime

import pytest

from postroom.domain.errors import (
    CredentialsRefused,
    PostroomError,
    ProviderFailed,
    ProviderThrottled,
    TargetUnavailable,
    ValidationError,
)
from postroom.world.http.refusal import refusal

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (302, TargetUnavailable),
        (400, ValidationError),
        (401, CredentialsRefused),
        (403, CredentialsRefused),
        (404, ValidationError),
        (410, ValidationError),
        (422, ValidationError),
        (429, ProviderThrottled),
        (500, ProviderFailed),
        (502, ProviderFailed),
        (503, TargetUnavailable),
        (504, ProviderFailed),
        (507, TargetUnavailable),
    ],
)
def test_each_status_means_one_thing(status: int, kind: type[PostroomError]) -> None:
    error = refusal("the service", status, None, NOW, ours="key")

    assert type(error) is kind
    assert str(status) in error.message


def test_a_wait_past_reason_is_cut_and_says_so() -> None:
    error = refusal("the service", 429, "86400", NOW, ours="key")

    assert error.retry_after_seconds == 3600.0
    assert "it asked for a wait of" in error.message
