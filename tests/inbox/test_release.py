"""E-mail copies become deliveries: once, on time, and to a real mail server."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import time
from functools import partial
from pathlib import Path
from subprocess import Popen

import pytest
from sqlalchemy import func, select, update
from tests.clock import FakeClock
from tests.household.processes import environment, part
from tests.inbox.examples import AT_NIGHT, BY_EMAIL, MINT, QUIET_ENDS_US, a_notification
from tests.inbox.workshop import Workshop, inbox_on, workshop
from tests.opened_database import KINDS, opened_database
from tests.support.counted import CountedLoops

from postroom.attention.attention import Attention
from postroom.attention.model import Policy, Preset, QuietWindow
from postroom.attention.rules.policy import Absence
from postroom.attention.store import StoredNotices, attention_people
from postroom.attention.turn import HouseholdNames, NoticeBook
from postroom.delivery.store.tables import delivery_requests
from postroom.household.store import stored_people
from postroom.inbox.copies import outgoing
from postroom.inbox.inbox import Inbox
from postroom.inbox.model import Defer, DeliveryChannel, NotificationChange, NotificationQuery, Preferences, Terms
from postroom.inbox.preferences import warnings_of
from postroom.inbox.rules import apply
from postroom.inbox.store.mail import StoredPreferences
from postroom.inbox.store.notes import StoredNotes
from postroom.inbox.store.waiting import deferred_emails, notifications
from postroom.kernel.database.engine import Database
from postroom.kernel.database.postgres import PostgresDatabase
from postroom.kernel.running.clock import SystemClock
from postroom.kernel.values.ids import seconds, to_text
from postroom.sandbox.faults import Fault, FaultChannel
from postroom.sandbox.server import Sandbox, serve

SEVEN_HOURS = 7 * 3600
COPIES = Terms(email_enabled=True)


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
        terms=releaser.terms,
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


# Quiet hours have one place: what is set in the inbox is the policy's, and what is set there is the inbox's.

NIGHT = QuietWindow(time(22), time(7))
SIESTA = QuietWindow(time(13), time(15), ("sat", "sun"))


@dataclass(frozen=True)
class Desk:
    database: Database
    clock: FakeClock
    inbox: Inbox
    attention: Attention

    async def wish(self, after: Preferences, user_id: str = "ada") -> Preferences:
        return await self.inbox.change_preferences(user_id, lambda _: after)

    async def leave_a_note(self) -> Defer | None:
        now_us = self.clock.now_us()
        created = await self.inbox.notes.create(a_notification(at_us=now_us), hourly_cap=100, terms=COPIES)
        assert created is not None
        return created[1] if isinstance(created[1], Defer) else None

    async def hours(self) -> list[int]:
        asked = select(deferred_emails.c.deliver_after).order_by(deferred_emails.c.created_at)
        return await self.database.read(lambda connection: list(connection.execute(asked).scalars()))


@pytest.fixture(params=KINDS)
async def desk(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> AsyncIterator[Desk]:
    async with opened_database(request.param, tmp_path, request) as database:
        people = HouseholdNames(people=stored_people(database, MINT))
        book = NoticeBook(store=StoredNotices(database), people=people, clock=clock)
        yield Desk(database, clock, inbox_on(database, book, clock), Attention(book=book))


@pytest.mark.requirement("attention:one-quiet-hours")
async def test_what_is_set_in_the_inbox_is_the_policys(desk: Desk) -> None:
    wished = replace(AT_NIGHT, quiet_hours_timezone="Asia/Kolkata")
    assert await desk.wish(wished) == await desk.inbox.preferences("ada") == wished

    policy, digest = await desk.attention.policy("ada")
    assert policy == Policy(zone="Asia/Kolkata", quiet_hours=(NIGHT,))
    await desk.wish(replace(wished, email=None))
    assert (await desk.attention.policy("ada"))[1] == digest
    await desk.wish(BY_EMAIL)
    assert (await desk.attention.policy("ada"))[0] is None
    assert await desk.attention.audit() == ()


@pytest.mark.requirement("attention:one-quiet-hours")
async def test_the_operators_inbox_is_the_owners(desk: Desk) -> None:
    await desk.wish(AT_NIGHT, "operator")

    assert (await desk.attention.policy("owner"))[0] == Policy(quiet_hours=(NIGHT,))


@pytest.mark.requirement("attention:one-quiet-hours")
async def test_what_is_set_in_the_policy_is_shown_in_the_inbox_and_holds_its_copies(desk: Desk) -> None:
    await desk.wish(BY_EMAIL)
    await desk.attention.set_policy("ada", Policy(preset=Preset.EVERYTHING, zone="UTC", quiet_hours=(NIGHT, SIESTA)))

    shown = await desk.inbox.preferences("ada")
    assert (shown.quiet_hours_start, shown.quiet_hours_end) == (time(22), time(7))
    (warning,) = warnings_of(shown, email_enabled=True)
    assert "22:00-07:00, sat sun 13:00-15:00" in warning
    await desk.wish(replace(shown, email="other@example.com"))
    policy, _ = await desk.attention.policy("ada")
    assert policy is not None and policy.quiet_hours == (NIGHT, SIESTA)
    held = await desk.leave_a_note()
    assert held == Defer(QUIET_ENDS_US) and [str(one.reason) for one in held.reasons] == ["quiet"]


@pytest.mark.requirement("attention:one-quiet-hours")
async def test_what_the_person_wants_now_counts_for_copies_that_already_wait(desk: Desk) -> None:
    await desk.wish(AT_NIGHT)
    await desk.leave_a_note()
    assert await desk.hours() == [QUIET_ENDS_US]
    await desk.clock.advance(60)

    await desk.attention.set_policy("ada", None)
    assert await desk.hours() == [desk.clock.now_us()]


async def test_who_is_away_gets_no_copies_until_they_are_back(desk: Desk) -> None:
    await desk.wish(BY_EMAIL)
    start_us = desk.clock.now_us()
    back_us = start_us + seconds(2 * 86_400)
    await desk.attention.away("ada", Absence(start_us=start_us, end_us=back_us))

    held = await desk.leave_a_note()
    assert held == Defer(back_us) and [str(one.reason) for one in held.reasons] == ["away"]


@pytest.mark.requirement("attention:neutral")
async def test_who_says_nothing_about_hours_has_no_policy_and_no_row(desk: Desk) -> None:
    await desk.wish(replace(BY_EMAIL, quiet_hours_timezone="Europe/Berlin", high_priority_passes=True))

    rows = await desk.database.read(lambda connection: connection.execute(select(attention_people)).all())
    assert rows == []
    assert (await desk.inbox.preferences("ada")).quiet_hours_timezone == "Europe/Berlin"


# Two real households release the same e-mails, and one of them is killed in the middle.

PEOPLE = 16
EACH = 2
HOUR_US = 3_600_000_000
QUICK = {
    "POSTROOM_INBOX__EMAIL_ENABLED": "true",
    "POSTROOM_INBOX__LEASE_SECONDS": "2",
    "POSTROOM_INBOX__SWEEP_SECONDS": "0.2",
    "POSTROOM_TIMEOUTS__EMAIL_SECONDS": "3",
    "POSTROOM_DELIVERY__LEASE_SECONDS": "2",
    "POSTROOM_DELIVERY__SWEEP_SECONDS": "0.5",
    "POSTROOM_DELIVERY__SLOTS_PER_CHANNEL": "2",
    "POSTROOM_LIMITS__GLOBAL_PER_MINUTE": "100000",
    "POSTROOM_LIMITS__CHANNELS": '{"email.bot": 100000}',
}


def wish(email: str, _: Preferences) -> Preferences:
    return replace(BY_EMAIL, email=email)


async def fill(database: PostgresDatabase) -> None:
    """Everybody has two notifications that wait for the same moment, which then comes for all of them at once."""
    notes, preferences, now_us = StoredNotes(database), StoredPreferences(database), SystemClock().now_us()
    for number in range(PEOPLE):
        user_id = f"user{number}"
        await preferences.change(user_id, partial(wish, f"{user_id}@example.com"), now_us)
        for _ in range(EACH):
            new = a_notification(user_id, at_us=now_us, snoozed_until_us=now_us + HOUR_US)
            assert await notes.create(new, hourly_cap=10, terms=COPIES) is not None
    for due in (update(notifications).values(snoozed_until=None), update(deferred_emails).values(deliver_after=now_us)):
        await database.write(lambda connection, due=due: connection.execute(due).rowcount)


@contextmanager
def two_households(sandbox: Sandbox, url: str, folder: Path) -> Iterator[list[Popen[str]]]:
    shared = {
        **QUICK,
        "POSTROOM_DATABASE_URL": url,
        "POSTROOM_PORTS__SANDBOX": str(sandbox.bot_api_port),
        "POSTROOM_PORTS__SANDBOX_SMTP": str(sandbox.smtp_port),
    }
    with ExitStack() as stack:
        yield [
            stack.enter_context(part(environment(folder / name) | shared, "messenger")) for name in ("first", "second")
        ]


async def until(condition: Callable[[], Awaitable[bool]], what: str) -> None:
    for _ in range(600):
        if await condition():
            return
        await asyncio.sleep(0.05)
    raise AssertionError(what)


@pytest.mark.timeout(180)
async def test_every_e_mail_is_sent_once_or_marked(postgres_url: str, tmp_path: Path) -> None:
    database = PostgresDatabase(postgres_url)
    await database.migrate()

    async def all_settled() -> bool:
        waiting = select(func.count()).where(deferred_emails.c.delivered_at.is_(None))
        moving = select(func.count()).where(delivery_requests.c.status != "delivered")
        counts = await database.read(lambda one: [one.execute(count).scalar_one() for count in (waiting, moving)])
        return counts == [0, 0]

    async with serve() as sandbox:
        sandbox.faults.arm(Fault(channel=FaultChannel.EMAIL, times=-1, delay_seconds=0.15))

        async def some_arrived() -> bool:
            return sandbox.ledger.email.count(from_person=False, since=0) >= 4

        with two_households(sandbox, postgres_url, tmp_path) as households:
            await fill(database)
            await until(some_arrived, "no e-mail was sent")
            os.killpg(households[0].pid, signal.SIGKILL)
            assert not await all_settled(), "killed too late to show anything"
            await until(all_settled, "the other household did not finish")
        mails = [one.mail for one in sandbox.ledger.email.mails(from_person=False, since=0, limit=1000)]
    rows = select(delivery_requests.c.id, delivery_requests.c.possible_duplicate)
    deliveries = await database.read(lambda one: {row.id: row.possible_duplicate for row in one.execute(rows)})
    await database.close()

    assert len(deliveries) == PEOPLE, "one digest for each person, whoever released it"
    copies = Counter(str(mail.message_id).strip("<>").split("@")[0].split(".")[0] for mail in mails)
    assert set(copies) == set(deliveries)
    assert {one for one, count in copies.items() if count > 1} <= {one for one, marked in deliveries.items() if marked}
    assert all(mail.subject == f"{EACH} notifications" for mail in mails)
