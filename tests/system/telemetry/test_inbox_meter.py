"""What the inbox counts and writes down, and what it never does."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs
from tests.clock import START_US
from tests.work.inbox.examples import a_notification

from postroom.domain.email_copy import Batch, Defer, Drop, Ending, GivenUp, HandedOver, Send, TryAgain, Verdict
from postroom.system.telemetry.inbox_meter import PrometheusInboxMeter

NOTE = a_notification(message="Canary text", correlation_id="k1")
BATCH = Batch(
    id="b1", fence=1, attempts=0, user_id="ada", address="canary@example.com", zone="UTC", notifications=[NOTE]
)


@pytest.mark.parametrize(
    ("email", "label"),
    [(Send("canary@example.com"), "now"), (Defer(START_US), "later"), (Drop("read"), "none")],
    ids=str,
)
@pytest.mark.requirement("inbox:side-effect-log")
def test_a_creation_is_counted_by_what_becomes_of_its_e_mail(email: Verdict, label: str) -> None:
    registry = CollectorRegistry()
    with capture_logs() as logs:
        PrometheusInboxMeter(registry).created(NOTE, email)

    labels = {"type": "reminder", "email": label}
    assert registry.get_sample_value("postroom_notification_created_total", labels) == 1
    assert logs[0]["correlation_id"] == "k1"
    assert "anary" not in str(logs)


@pytest.mark.parametrize(
    ("ending", "outcome"),
    [
        (HandedOver("d1"), "handed_over"),
        (TryAgain(START_US, "timeout"), "put_off"),
        (GivenUp("validation_error"), "given_up"),
    ],
    ids=["handed over", "put off", "given up"],
)
def test_an_e_mail_is_counted_by_how_its_hand_over_ended(ending: Ending, outcome: str) -> None:
    registry = CollectorRegistry()
    with capture_logs() as logs:
        PrometheusInboxMeter(registry).handed_over(BATCH, ending)

    assert registry.get_sample_value("postroom_notification_email_total", {"outcome": outcome}) == 1
    assert logs[0]["outcome"] == outcome
    assert "anary" not in str(logs)


def test_what_was_above_the_cap_is_counted() -> None:
    registry = CollectorRegistry()
    PrometheusInboxMeter(registry).limited("ada", "k1")

    assert registry.get_sample_value("postroom_notification_limited_total") == 1
