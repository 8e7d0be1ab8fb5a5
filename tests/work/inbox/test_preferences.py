"""A wish is kept whole or refused with the field that is wrong."""

from __future__ import annotations

from dataclasses import replace
from datetime import time
from typing import Any

import pytest
from tests.work.inbox.examples import AT_NIGHT, BY_EMAIL

from postroom.domain.errors import ValidationError
from postroom.domain.notification import DeliveryChannel, Preferences
from postroom.work.inbox.preferences import changed, warnings_of
from postroom.world.channels.mailbox import mailbox


def test_nobody_who_said_nothing_gets_e_mail() -> None:
    assert not Preferences().delivery_channel.has_email


def test_one_field_leaves_the_others_alone() -> None:
    after = changed(AT_NIGHT, {"delivery_channel": "email"}, mailbox)

    assert (after.delivery_channel, after.email) == (DeliveryChannel.EMAIL, AT_NIGHT.email)
    assert (after.quiet_hours_start, after.quiet_hours_end) == (time(22), time(7))


def test_quiet_hours_are_taken_away_together() -> None:
    after = changed(AT_NIGHT, {"quiet_hours_start": None, "quiet_hours_end": None}, mailbox)

    assert (after.quiet_hours_start, after.quiet_hours_end) == (None, None)


def test_an_address_is_kept_in_its_canonical_form() -> None:
    assert changed(Preferences(), {"email": "Ada@EXAMPLE.com"}, mailbox, confirmed=True).email == "Ada@example.com"


@pytest.mark.parametrize(
    ("wishes", "fields"),
    [
        pytest.param({"delivery_channel": "pigeon"}, ["delivery_channel"], id="channel"),
        pytest.param({"delivery_channel": ["both"]}, ["delivery_channel"], id="channel of another type"),
        pytest.param({"email": "nobody"}, ["email"], id="no address"),
        pytest.param({"email": "a@example.com\r\nBcc: b@example.com"}, ["email"], id="an address with a line break"),
        pytest.param({"email": 7}, ["email"], id="address of another type"),
        pytest.param({"quiet_hours_start": "22:00"}, ["quiet_hours_end"], id="only a start"),
        pytest.param({"quiet_hours_end": "07:00"}, ["quiet_hours_start"], id="only an end"),
        pytest.param({"quiet_hours_start": "25:00", "quiet_hours_end": "7:00"}, None, id="no times of day"),
        pytest.param({"quiet_hours_start": 79200, "quiet_hours_end": "07:00"}, ["quiet_hours_start"], id="seconds"),
        pytest.param({"quiet_hours_start": "22:00+01", "quiet_hours_end": "07:00"}, ["quiet_hours_start"], id="offset"),
        pytest.param({"quiet_hours_timezone": "Mars/Olympus"}, ["quiet_hours_timezone"], id="zone"),
        pytest.param({"high_priority_passes": 1}, ["high_priority_passes"], id="flag"),
    ],
)
def test_a_wrong_wish_is_refused_by_name(wishes: dict[str, Any], fields: list[str] | None) -> None:
    with pytest.raises(ValidationError) as refused:
        changed(Preferences(), wishes, mailbox)

    assert [one.field for one in refused.value.fields] == (fields or sorted(wishes, reverse=True))


@pytest.mark.parametrize(
    ("kept", "email_enabled", "warning"),
    [
        (Preferences(), False, None),
        (BY_EMAIL, True, None),
        (BY_EMAIL, False, "E-mail is switched off in this household (inbox.email_enabled): no copy is mailed."),
        (replace(BY_EMAIL, email=None), True, "No e-mail address is confirmed yet: no copy is mailed."),
        (
            Preferences(delivery_channel=DeliveryChannel.EMAIL),
            True,
            "No e-mail address is confirmed yet: no copy is mailed, and the bell stays silent.",
        ),
    ],
)
def test_a_wish_that_cannot_come_true_is_kept_with_a_warning(
    kept: Preferences, email_enabled: bool, warning: str | None
) -> None:
    assert warnings_of(kept, email_enabled=email_enabled) == ([warning] if warning else [])


@pytest.mark.parametrize(
    ("wish", "confirmed", "email", "pending"),
    [
        pytest.param("new@example.com", False, "ada@example.com", "new@example.com", id="new"),
        pytest.param("new@example.com", True, "new@example.com", None, id="new, from the operator"),
        pytest.param("ada@example.com", False, "ada@example.com", None, id="the one there was"),
        pytest.param(None, False, None, None, id="none any more"),
    ],
)
def test_a_new_address_counts_when_it_is_confirmed_and_the_old_one_until_then(
    wish: str | None, confirmed: bool, email: str | None, pending: str | None
) -> None:
    before = Preferences(email="ada@example.com", email_pending="other@example.com")

    after = changed(before, {"email": wish}, mailbox, confirmed=confirmed)

    assert (after.email, after.email_pending) == (email, pending)


def test_other_wishes_leave_a_waiting_address_alone() -> None:
    before = Preferences(email_pending="new@example.com")

    assert changed(before, {"delivery_channel": "both"}, mailbox).email_pending == "new@example.com"
