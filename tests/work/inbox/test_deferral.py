"""Now, later or never: the same rule when a notification is made and when its e-mail is released."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.clock import START_US
from tests.work.inbox.examples import AT_NIGHT, BY_EMAIL, QUIET_ENDS_US, a_notification

from postroom.domain.delivery import Priority
from postroom.domain.email_copy import Defer, Drop, Send, Verdict
from postroom.domain.notification import DeliveryChannel, Notification, Preferences
from postroom.work.inbox.deferral import judge

NOTE = a_notification()
URGENT = replace(NOTE, priority=Priority.HIGH)
LENIENT = replace(AT_NIGHT, high_priority_passes=True)
ADA = Send("ada@example.com")


@pytest.mark.requirement("inbox:side-effect-email", "inbox:side-effect-deferred-email")
@pytest.mark.parametrize(
    ("notification", "preferences", "expected"),
    [
        pytest.param(NOTE, BY_EMAIL, ADA, id="wanted"),
        pytest.param(NOTE, replace(BY_EMAIL, delivery_channel=DeliveryChannel.EMAIL), ADA, id="e-mail alone"),
        pytest.param(NOTE, Preferences(email="ada@example.com"), Drop("the person wants no e-mail"), id="in app"),
        pytest.param(NOTE, replace(BY_EMAIL, email=None), Drop("no address is known"), id="no address"),
        pytest.param(NOTE, AT_NIGHT, Defer(QUIET_ENDS_US), id="at night"),
        pytest.param(URGENT, AT_NIGHT, Defer(QUIET_ENDS_US), id="urgent, and not allowed to pass"),
        pytest.param(URGENT, LENIENT, ADA, id="urgent, and allowed to pass"),
        pytest.param(NOTE, LENIENT, Defer(QUIET_ENDS_US), id="only urgent ones may pass"),
        pytest.param(replace(NOTE, dismissed_at_us=1), BY_EMAIL, Drop("dismissed"), id="dismissed"),
        pytest.param(replace(NOTE, archived_at_us=1), BY_EMAIL, Drop("archived"), id="archived"),
        pytest.param(replace(NOTE, read_at_us=1), AT_NIGHT, Drop("read"), id="read in the app"),
        pytest.param(replace(NOTE, snoozed_until_us=START_US + 5), BY_EMAIL, Defer(START_US + 5), id="snoozed"),
        pytest.param(replace(NOTE, snoozed_until_us=START_US), BY_EMAIL, ADA, id="no longer snoozed"),
    ],
)
def test_the_verdict(notification: Notification, preferences: Preferences, expected: Verdict) -> None:
    assert judge(notification, preferences, email_enabled=True, now_us=START_US) == expected


def test_while_e_mail_is_switched_off_nobody_gets_any() -> None:
    assert judge(NOTE, BY_EMAIL, email_enabled=False, now_us=START_US) == Drop("e-mail is switched off")


def test_when_the_night_is_over_it_goes() -> None:
    assert judge(NOTE, AT_NIGHT, email_enabled=True, now_us=QUIET_ENDS_US) == ADA
