"""Now, later or never: the same rule when a notification is made and when its e-mail is released."""

from __future__ import annotations

from dataclasses import replace
from datetime import time
from typing import Any

import pytest
from tests.clock import START_US
from tests.work.inbox.examples import AT_NIGHT, BY_EMAIL, QUIET_ENDS_US, a_notification

from postroom.domain.attention import AttentionWish
from postroom.domain.delivery import Priority
from postroom.domain.email_copy import Defer, Drop, Send, Verdict
from postroom.domain.notification import DeliveryChannel, Notification, Preferences
from postroom.domain.risk_and_urgency import Urgency
from postroom.domain.time import seconds
from postroom.work.attention.policy import AgentRule, Policy, Preset, QuietWindow
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


def asking(**wish: Any) -> Notification:
    return replace(NOTE, agent="ci", wish=AttentionWish(**wish))


CALM = Policy(preset=Preset.CALM, quiet_hours=(QuietWindow(time(22), time(7)),))
GRANTED = replace(CALM, agents=(("ci", AgentRule(critical=True)),))
SLOT_US = START_US + seconds(8 * 3600)
LONG = Policy(quiet_hours=(QuietWindow(time(0), time(23, 59)),))


@pytest.mark.requirement("attention:note-fields")
@pytest.mark.parametrize(
    ("notification", "policy", "expected"),
    [
        pytest.param(asking(urgency=Urgency.PASSIVE), CALM, Defer(SLOT_US), id="passive waits for its slot"),
        pytest.param(asking(urgency=Urgency.NORMAL), CALM, Defer(QUIET_ENDS_US), id="normal for the morning"),
        pytest.param(asking(urgency=Urgency.CRITICAL), CALM, Defer(QUIET_ENDS_US), id="critical without a grant"),
        pytest.param(asking(urgency=Urgency.CRITICAL), GRANTED, ADA, id="critical with a grant"),
        pytest.param(asking(expires_in_seconds=60), None, ADA, id="not expired yet"),
        pytest.param(NOTE, LONG, Defer(START_US + seconds(86_340)), id="the whole of quiet hours, however long"),
    ],
)
def test_the_policy_judges_what_the_agent_asked_for(
    notification: Notification, policy: Policy | None, expected: Verdict
) -> None:
    assert judge(notification, BY_EMAIL, email_enabled=True, now_us=START_US, household=policy) == expected


@pytest.mark.requirement("attention:note-fields")
def test_what_has_expired_is_not_mailed() -> None:
    later_us = START_US + seconds(60)
    expired = Drop("expired")
    assert judge(asking(expires_in_seconds=60), BY_EMAIL, email_enabled=True, now_us=later_us) == expired
