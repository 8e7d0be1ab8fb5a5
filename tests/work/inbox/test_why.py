"""A note says where it stands, and its e-mail copy what it waits for now."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.clock import START_US
from tests.work.inbox.examples import AT_NIGHT, BY_EMAIL, a_notification

from postroom.domain.notification import Preferences
from postroom.work.inbox.why import why_note

NOW = START_US + 3_600_000_000  # one hour into the quiet hours of AT_NIGHT
EARLIER = NOW - 60_000_000
WAITING = dict.fromkeys(("cancelled_at", "failed_at", "delivered_at", "delivery_id", "batch_id", "error_message"))
WAITING |= {"deliver_after": START_US + 7 * 3_600_000_000, "quiet": True}
DUE = {**WAITING, "deliver_after": EARLIER}
IN_APP = Preferences()


def told(preferences: Preferences, copy: dict[str, Any] | None, *, email_enabled: bool = True, **note: Any) -> str:
    one = a_notification(at_us=START_US, **note)
    return why_note(one, preferences, copy, email_enabled=email_enabled, now_us=NOW)


@pytest.mark.parametrize(
    ("note", "sentence"),
    [
        ({}, "It is a note in the inbox of ada, stored 1 hour ago. It has not been seen yet."),
        ({"seen_at_us": EARLIER}, "It was seen 1 minute ago."),
        ({"seen_at_us": START_US, "read_at_us": EARLIER}, "It was read 1 minute ago."),
        ({"read_at_us": START_US, "archived_at_us": EARLIER}, "It was archived 1 minute ago."),
        ({"read_at_us": START_US, "dismissed_at_us": EARLIER}, "It was dismissed 1 minute ago."),
        ({"snoozed_until_us": NOW + 3_600_000_000}, "out of sight; it comes back in 1 hour."),
        ({"has_bell": False}, "The person wanted notes by e-mail only, so the bell stayed silent."),
    ],
)
def test_a_note_says_where_it_stands(note: dict[str, Any], sentence: str) -> None:
    assert sentence in told(IN_APP, None, **note)


@pytest.mark.parametrize(
    ("preferences", "copy", "sentence"),
    [
        (AT_NIGHT, WAITING, "Its e-mail waits until the person's quiet hours end, in 6 hours."),
        (BY_EMAIL, DUE, "Its e-mail is due and leaves as soon as a worker takes it."),
        (BY_EMAIL, WAITING, "Its e-mail is due and leaves in 6 hours."),
        (replace(AT_NIGHT, email=None), WAITING, "Its e-mail will not be sent: no address is known."),
        (BY_EMAIL, {**DUE, "batch_id": "b"}, "Its e-mail is being handed over."),
        (
            BY_EMAIL,
            {**DUE, "batch_id": "b", "error_message": "overload_rejected", "deliver_after": NOW + 60_000_000},
            "Its e-mail is being handed over (overload_rejected) and is tried again in 1 minute.",
        ),
        (
            BY_EMAIL,
            {**DUE, "cancelled_at": EARLIER, "error_message": "read"},
            "No e-mail was sent for it, as was decided 1 minute ago: read.",
        ),
        (
            BY_EMAIL,
            {**DUE, "failed_at": EARLIER, "error_message": "validation_error"},
            "Its e-mail failed 1 minute ago: validation_error.",
        ),
        (
            BY_EMAIL,
            {**DUE, "delivered_at": EARLIER, "delivery_id": "abc"},
            "Its e-mail was handed over as delivery abc 1 minute ago.",
        ),
        (IN_APP, None, "It has no e-mail copy: the person wants no e-mail."),
        (BY_EMAIL, None, "It has no e-mail copy: e-mail was off or not wanted when it was stored."),
    ],
)
def test_its_e_mail_copy_says_what_it_waits_for_now(
    preferences: Preferences, copy: dict[str, Any] | None, sentence: str
) -> None:
    assert told(preferences, copy).endswith(sentence)


def test_a_snooze_is_not_taken_for_quiet_hours() -> None:
    until_us = NOW + 3_600_000_000

    assert told(BY_EMAIL, WAITING, snoozed_until_us=until_us).endswith("waits until the snooze ends, in 1 hour.")


def test_a_household_without_e_mail_says_so() -> None:
    assert told(BY_EMAIL, None, email_enabled=False).endswith("It has no e-mail copy: e-mail is switched off.")
