from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from postroom.domain.errors import (
    CredentialsRefused,
    DeliveryTimeout,
    OutcomeUncertain,
    PostroomError,
    ProviderFailed,
    ProviderThrottled,
    TargetUnavailable,
    ValidationError,
)
from postroom.world.channels.apprise.trail import Fate, Trail, WatchedRequest
from postroom.world.channels.apprise.verdict import NO_RECEIPT, too_late, verdict

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
NOT_SENT, UNKNOWN = WatchedRequest(fate=Fate.NOT_SENT), WatchedRequest(fate=Fate.UNKNOWN)


def answered(status: int) -> WatchedRequest:
    return WatchedRequest(fate=Fate.ANSWERED, status=status)


def trail(*requests: WatchedRequest) -> Trail:
    return Trail(patience_seconds=5.0, public_only=True, requests=list(requests), asked=bool(requests))


@pytest.mark.requirement("house:apprise-evidence")
@pytest.mark.parametrize(
    ("requests", "kind"),
    [
        ([], OutcomeUncertain),
        ([NOT_SENT], TargetUnavailable),
        ([NOT_SENT, NOT_SENT], TargetUnavailable),
        ([UNKNOWN], OutcomeUncertain),
        ([UNKNOWN, NOT_SENT], OutcomeUncertain),
        ([answered(400)], ValidationError),
        ([answered(404)], ValidationError),
        ([answered(413)], ValidationError),
        ([answered(422)], ValidationError),
        ([answered(401)], CredentialsRefused),
        ([answered(403)], CredentialsRefused),
        ([answered(429)], ProviderThrottled),
        ([answered(429), answered(429)], ProviderThrottled),
        ([answered(429), answered(400)], ValidationError),
        ([answered(500)], ProviderFailed),
        ([answered(503)], TargetUnavailable),
        ([answered(302)], TargetUnavailable),
        ([answered(200)], OutcomeUncertain),
        ([answered(200), answered(400)], OutcomeUncertain),
        ([answered(204), NOT_SENT], OutcomeUncertain),
    ],
)
def test_a_failure_means_what_the_last_request_says_unless_one_may_have_arrived(
    requests: Sequence[WatchedRequest], kind: type[PostroomError]
) -> None:
    assert type(verdict("JSON", False, trail(*requests), NOW)) is kind


@pytest.mark.parametrize("requests", [[], [answered(200)], [answered(429), answered(200)]])
def test_a_success_is_a_receipt_that_names_nothing(requests: Sequence[WatchedRequest]) -> None:
    assert verdict("JSON", True, trail(*requests), NOW) == NO_RECEIPT


def test_a_success_with_a_request_of_unknown_fate_is_none() -> None:
    assert type(verdict("JSON", True, trail(UNKNOWN, answered(200)), NOW)) is OutcomeUncertain


@pytest.mark.requirement("house:apprise-evidence")
def test_at_the_deadline_only_what_surely_did_not_leave_was_not_sent() -> None:
    asked, left, by_other_means = trail(), trail(), trail()
    asked.begin()
    left.begin()
    left.leave()

    assert [
        type(too_late("JSON", one, NOW))
        for one in (None, asked, left, by_other_means, trail(answered(200)), trail(UNKNOWN), trail(answered(429)))
    ] == [
        DeliveryTimeout,
        DeliveryTimeout,
        OutcomeUncertain,
        OutcomeUncertain,
        OutcomeUncertain,
        OutcomeUncertain,
        ProviderThrottled,
    ]
