"""E-mail copies become deliveries: once, on time, and to a real mail server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import time
from functools import partial
from pathlib import Path

import pytest
from tests.clock import FakeClock
from tests.support.counted import CountedLoops
from tests.work.inbox.examples import AT_NIGHT, BY_EMAIL, QUIET_ENDS_US
from tests.work.inbox.workshop import Workshop, workshop

from postroom.inbox.copies import outgoing
from postroom.inbox.model import DeliveryChannel, NotificationChange, NotificationQuery, Send
from postroom.inbox.rules import apply
from postroom.kernel.values.ids import to_text

SEVEN_HOURS = 7 * 3600


@pytest.fixture
async def shop(home: Path, clock: FakeClock) -> AsyncIterator[Workshop]:
    async with workshop(home, clock) as shop:
        yield shop


@pytest.mark.requirement("inbox:side-effect-email")
async def test_by_day_a_real_mail_arrives_and_is_a_delivery_like_all_others(shop: Workshop) -> None:
    await shop.wish(BY_EMAIL)
    answer = await shop.send("Grüße ✉ at nine", type="reminder")
    await shop.releaser.release_due()

    (mail,) = await shop.mails(1)
    assert (mail.recipients, mail.subject, mail.body.strip()) == (
        ("ada@example.com",),
        "Reminder: Grüße ✉ at nine",
        "Grüße ✉ at nine",
    )
    (delivery,) = await shop.deliveries()
    assert (delivery["origin_butler"], delivery["channel"]) == ("inbox", "email")
    assert delivery["request_id"] == answer["notification_id"], "so that `postroom trace` finds it"
    (row,) = await shop.rows()
    assert (row["delivery_id"], row["delivered_at"]) == (delivery["id"], shop.clock.now_us())


@pytest.mark.requirement("inbox:side-effect-deferred-email")
async def test_what_came_in_the_night_is_one_digest_in_the_morning(shop: Workshop) -> None:
    await shop.wish(AT_NIGHT)
    for word in ("One", "Two", "Three"):
        await shop.send(word)
    assert await shop.releaser.release_due() == 0
    assert [row["deliver_after"] for row in await shop.rows()] == [QUIET_ENDS_US] * 3

    await shop.clock.advance(SEVEN_HOURS)
    assert await shop.releaser.release_due() == 1
    (mail,) = await shop.mails(1)
    assert mail.subject == "3 notifications"
    assert mail.body.index("One") < mail.body.index("Two") < mail.body.index("Three")
    assert len({row["delivery_id"] for row in await shop.rows()}) == 1


async def test_in_the_morning_wishes_dismissals_and_the_window_are_looked_at_again(shop: Workshop) -> None:
    for user_id in ("leaving", "later"):
        await shop.wish(AT_NIGHT, user_id)
        await shop.send(user_id=user_id)
    await shop.wish(AT_NIGHT)
    gone, _kept = [(await shop.send(word))["notification_id"] for word in ("Gone", "Kept")]
    await shop.notes.change("ada", gone, partial(apply, change=NotificationChange.DISMISS, now_us=shop.clock.now_us()))
    await shop.wish(replace(AT_NIGHT, delivery_channel=DeliveryChannel.IN_APP), "leaving")
    assert AT_NIGHT.quiet_hours_end is not None
    await shop.wish(replace(AT_NIGHT, quiet_hours_end=AT_NIGHT.quiet_hours_end.replace(hour=8)), "later")

    await shop.clock.advance(SEVEN_HOURS)
    await shop.releaser.release_due()
    assert [mail.subject for mail in await shop.mails(1)] == ["Info: Kept"]
    await shop.clock.advance(3600)
    await shop.releaser.release_due()
    assert len(await shop.mails(2)) == 2


async def test_a_letter_that_was_handed_over_but_not_settled_is_not_sent_again(shop: Workshop) -> None:
    """As after kill -9 between the two: the next worker takes the same batch and hands it over again."""
    await shop.wish(AT_NIGHT)
    await shop.send("One")
    await shop.send("Two")
    await shop.clock.advance(SEVEN_HOURS)
    now_us = shop.clock.now_us()
    releaser = shop.releaser
    (batch,) = await releaser.emails.take(
        now_us=now_us,
        lease_until_us=now_us + 1,
        digest=True,
        judge=lambda *_: Send("ada@example.com"),
        mint=releaser.mint,
    )
    await shop.plane.submit(outgoing(batch), request_id=batch.id, wait_seconds=0)
    await shop.mails(1)
    await shop.wish(replace(AT_NIGHT, quiet_hours_timezone="Asia/Tokyo", email="new@example.com"))

    await shop.clock.advance(1)
    assert await releaser.release_due() == 1
    assert len(await shop.deliveries()) == 1
    assert len(shop.received()) == 1
    assert {row["delivered_at"] is not None for row in await shop.rows()} == {True}


async def test_a_copy_to_ones_own_address_needs_nobodys_approval(home: Path, clock: FakeClock) -> None:
    async with workshop(home, clock, **{"approvals.enabled": True}) as shop:
        await shop.wish(BY_EMAIL)
        await shop.send()
        await shop.releaser.release_due()

        assert len(await shop.mails(1)) == 1


@pytest.mark.requirement("house:owners-inbox")
async def test_a_copy_for_the_operator_goes_to_the_owner(home: Path, clock: FakeClock) -> None:
    async with workshop(home, clock, **{"approvals.enabled": True, "owner.email": "olivia@home.example"}) as shop:
        await shop.wish(replace(BY_EMAIL, email=None), "operator")
        await shop.send(user_id="operator")
        await shop.releaser.release_due()

        assert [mail.recipients for mail in await shop.mails(1)] == [("olivia@home.example",)]


async def test_what_the_plane_refuses_for_now_is_tried_again(home: Path, clock: FakeClock) -> None:
    async with workshop(home, clock, **{"limits.recipient_per_minute": 1}) as shop:
        await shop.wish(BY_EMAIL)
        await shop.send("One")
        await shop.send("Two")
        await shop.releaser.release_due()
        assert len(await shop.mails(1)) == 1
        waiting = next(row for row in await shop.rows() if row["delivered_at"] is None)
        assert (waiting["attempts"], waiting["error_message"]) == (1, "overload_rejected")

        await clock.advance(60)
        await shop.releaser.release_due()
        assert [mail.body.strip() for mail in await shop.mails(2)] == ["One", "Two"]


async def test_the_loop_releases_when_woken_and_when_the_window_ends(shop: Workshop) -> None:
    one = shop.releaser
    async with CountedLoops(shop.clock).running("emails", one.look, wake=one.wake, stopping=one.stopping):
        await shop.wish(BY_EMAIL, "bob")
        await shop.wish(replace(AT_NIGHT, quiet_hours_start=time(0), quiet_hours_end=time(0, 0, 3)))
        await shop.send("At once", user_id="bob")
        assert len(await shop.mails(1)) == 1
        await shop.send("In three seconds")
        await shop.clock.parked(2)  # the releaser and the dispatcher
        await shop.clock.advance(2.999_999)
        await shop.clock.parked(2)
        assert len(shop.received()) == 1
        await shop.clock.advance(0.000_001)

        assert len(await shop.mails(2)) == 2


async def test_quiet_hours_that_are_taken_away_free_what_waits(shop: Workshop) -> None:
    await shop.wish(AT_NIGHT)
    await shop.send("One")
    await shop.send("Two")

    await shop.wish(BY_EMAIL)

    assert await shop.releaser.release_due() == 1
    assert [mail.subject for mail in await shop.mails(1)] == ["2 notifications"]


async def test_quiet_hours_that_are_moved_hold_what_waits_until_their_new_end(shop: Workshop) -> None:
    await shop.wish(AT_NIGHT)
    await shop.send()
    assert AT_NIGHT.quiet_hours_end is not None

    await shop.wish(replace(AT_NIGHT, quiet_hours_end=AT_NIGHT.quiet_hours_end.replace(hour=6)))
    await shop.releaser.release_due()

    assert [row["deliver_after"] for row in await shop.rows()] == [QUIET_ENDS_US - 3_600_000_000]
    assert shop.received() == []


async def test_urgent_notes_that_may_pass_from_now_on_are_freed_alone(shop: Workshop) -> None:
    await shop.wish(AT_NIGHT)
    await shop.send("Fire", type="warning")
    await shop.send("Tea", type="info")

    await shop.wish(replace(AT_NIGHT, high_priority_passes=True))
    await shop.releaser.release_due()

    assert [mail.subject for mail in await shop.mails(1)] == ["Warning: Fire"]
    assert [row["deliver_after"] for row in await shop.rows() if not row["batch_id"]] == [QUIET_ENDS_US]


async def test_another_wish_leaves_what_waits_alone(shop: Workshop) -> None:
    await shop.wish(AT_NIGHT)
    await shop.send()

    await shop.wish(replace(AT_NIGHT, delivery_channel=DeliveryChannel.IN_APP))
    await shop.wish(AT_NIGHT)

    assert [row["deliver_after"] for row in await shop.rows()] == [QUIET_ENDS_US]


async def test_a_snooze_that_is_ended_early_frees_the_copy_that_waited_for_it(shop: Workshop) -> None:
    await shop.wish(BY_EMAIL)
    note = (await shop.send())["notification_id"]
    until_us = shop.clock.now_us() + 3_600_000_000
    snooze = partial(apply, change=NotificationChange.SNOOZE, now_us=shop.clock.now_us(), until_us=until_us)
    await shop.notes.change("ada", note, snooze)
    await shop.releaser.release_due()
    assert [row["deliver_after"] for row in await shop.rows()] == [until_us]

    await shop.notes.change("ada", note, partial(apply, change=NotificationChange.SNOOZE, now_us=shop.clock.now_us()))

    assert await shop.releaser.release_due() == 1
    assert len(await shop.mails(1)) == 1


@pytest.mark.requirement("attention:note-held")
async def test_who_leaves_a_note_at_night_hears_that_its_copy_is_deferred(shop: Workshop) -> None:
    await shop.wish(AT_NIGHT)
    answer = await shop.send("Good night")

    assert (answer["success"], answer["status"], answer["reasons"]) == (True, "deferred", ["quiet"])
    assert answer["until"] == to_text(QUIET_ENDS_US)


@pytest.mark.requirement("attention:note-fields")
async def test_a_newer_note_of_the_same_key_takes_the_place_of_a_copy_that_waits(shop: Workshop) -> None:
    await shop.wish(AT_NIGHT)
    for agent, word in (("ci", "Running"), ("other", "Mine"), ("ci", "Finished")):
        await shop.send(word, agent=agent, supersedes="build")

    await shop.clock.advance(SEVEN_HOURS)
    await shop.releaser.release_due()
    (mail,) = await shop.mails(1)
    assert [word in mail.body for word in ("Running", "Mine", "Finished")] == [False, True, True]
    assert len(await shop.notes.page("ada", NotificationQuery(), shop.clock.now_us())) == 3
