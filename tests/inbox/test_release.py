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
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest
from sqlalchemy import func, select
from tests.clock import FakeClock
from tests.household.processes import environment, part
from tests.inbox.examples import AT_NIGHT, BY_EMAIL, MINT, QUIET_ENDS_US, a_notification
from tests.inbox.sending import sent
from tests.inbox.workshop import Workshop, inbox_on, workshop

from postroom.attention.attention import Attention
from postroom.attention.model import AgentRule, NoticeState, Policy, Preset, QuietWindow
from postroom.attention.rules.policy import Absence
from postroom.attention.state import Standing
from postroom.attention.store import StoredNotices, attention_people, notice_sends
from postroom.attention.turn import HouseholdNames, NoticeBook
from postroom.delivery.store.tables import delivery_requests
from postroom.household.store import stored_people
from postroom.inbox.inbox import Inbox
from postroom.inbox.model import DeliveryChannel, NotificationChange, NotificationQuery, Preferences
from postroom.inbox.preferences import warnings_of
from postroom.kernel.database.engine import Database
from postroom.kernel.database.postgres import PostgresDatabase
from postroom.kernel.running.clock import SystemClock
from postroom.kernel.values.ids import seconds, to_datetime, to_text
from postroom.sandbox.faults import Fault, FaultChannel
from postroom.sandbox.records import ReceivedMail
from postroom.sandbox.server import Sandbox, SandboxOptions

SEVEN_HOURS = 7 * 3600
HOUR_US = 3_600_000_000
SLOT_US = QUIET_ENDS_US + HOUR_US
NIGHT = QuietWindow(time(22), time(7))


@pytest.fixture
async def shop(home: Path, clock: FakeClock) -> AsyncIterator[Workshop]:
    async with workshop(home, clock) as shop:
        yield shop


@pytest.mark.requirement("inbox:side-effect-email")
async def test_by_day_a_real_mail_arrives_and_is_a_delivery_like_all_others(shop: Workshop) -> None:
    await shop.wish(BY_EMAIL)
    answer = await shop.send("Grüße ✉ at nine", type="reminder")
    await shop.release()

    (mail,) = await shop.mails(1)
    assert (mail.recipients, mail.subject, mail.body.strip()) == (
        ("ada@example.com",),
        "Reminder: Grüße ✉ at nine",
        "Grüße ✉ at nine",
    )
    (delivery,) = await shop.deliveries()
    assert (delivery["origin_butler"], delivery["channel"]) == ("inbox", "email")
    assert delivery["request_id"] == answer["notification_id"], "so that `postroom trace` finds it"
    assert "status" not in answer


@pytest.mark.requirement("inbox:side-effect-deferred-email")
async def test_what_came_in_the_night_is_one_digest_in_the_morning(shop: Workshop) -> None:
    await shop.wish(AT_NIGHT)
    for word in ("One", "Two", "Three" * 20):
        await shop.send(word, type="reminder")
    await shop.release()
    assert [copy.until_us for copy in await shop.copies()] == [QUIET_ENDS_US] * 3

    await shop.clock.advance(SEVEN_HOURS)
    await shop.release()
    (mail,) = await shop.mails(1)
    assert (mail.recipients, mail.subject) == (("ada@example.com",), "3 notices")
    told = [f"• Your household: Reminder: {word}" for word in ("One", "Two", "Three" * 20)]
    assert mail.body.split("\n")[1:4] == told
    await shop.release()
    assert {copy.state for copy in await shop.copies()} == {NoticeState.DIGESTED}
    assert await Attention(book=shop.inbox.attention).audit() == ()


async def test_digests_can_be_switched_off(home: Path, clock: FakeClock) -> None:
    async with workshop(home, clock, **{"inbox.digest": False}) as shop:
        await shop.wish(AT_NIGHT)
        for word in ("One", "Two"):
            await shop.send(word)
        await shop.clock.advance(SEVEN_HOURS)
        await shop.release()

        assert sorted(mail.subject for mail in await shop.mails(2)) == ["Info: One", "Info: Two"]


async def test_nobody_shares_a_digest_with_somebody_else(shop: Workshop) -> None:
    for user_id in ("ada", "bob"):
        await shop.wish(replace(AT_NIGHT, email=f"{user_id}@example.com"), user_id)
        for _ in range(2):
            await shop.send(f"For {user_id}", user_id)
    await shop.clock.advance(SEVEN_HOURS)
    await shop.release()

    mails = {mail.recipients[0]: mail.body for mail in await shop.mails(2)}
    assert {address: body.count("For ada") for address, body in mails.items()} == {
        "ada@example.com": 2,
        "bob@example.com": 0,
    }


@pytest.mark.parametrize(
    "change",
    [NotificationChange.DISMISS, NotificationChange.READ, NotificationChange.ARCHIVE, None],
    ids=lambda one: one or "read all",
)
async def test_what_its_reader_dealt_with_in_the_night_is_never_mailed(
    shop: Workshop, change: NotificationChange | None
) -> None:
    await shop.wish(AT_NIGHT)
    gone = (await shop.send("Gone"))["notification_id"]
    if change is None:
        await shop.inbox.read_all("ada")
    await shop.send("Kept")
    if change is not None:
        await shop.inbox.change("ada", gone, change)

    await shop.clock.advance(SEVEN_HOURS)
    await shop.release()
    assert [mail.subject for mail in await shop.mails(1)] == ["Info: Kept"]
    assert (await shop.copies())[0].state is NoticeState.WITHDRAWN


async def test_who_reads_a_note_whose_copy_has_left_gets_no_correction(shop: Workshop) -> None:
    await shop.wish(BY_EMAIL)
    note = (await shop.send())["notification_id"]
    await shop.release()
    await shop.inbox.change("ada", note, NotificationChange.READ)
    await shop.release()

    assert len(await shop.mails(1)) == len(await shop.deliveries()) == 1


@pytest.mark.parametrize(
    "wished",
    [
        pytest.param(replace(AT_NIGHT, delivery_channel=DeliveryChannel.IN_APP), id="no e-mail any more"),
        pytest.param(replace(AT_NIGHT, email=None), id="no address any more"),
    ],
)
async def test_somebody_who_opted_out_in_the_night_gets_nothing(shop: Workshop, wished: Preferences) -> None:
    await shop.wish(AT_NIGHT)
    await shop.send()
    await shop.wish(wished)

    await shop.clock.advance(SEVEN_HOURS)
    await shop.release()
    assert await shop.deliveries() == []


async def test_what_waits_when_e_mail_is_switched_off_is_not_mailed(home: Path, clock: FakeClock) -> None:
    async with workshop(home, clock) as shop:
        await shop.wish(AT_NIGHT)
        await shop.send()
    async with workshop(home, clock, **{"inbox.email_enabled": False}) as shop:
        await shop.inbox.keep_to_terms()
        await clock.advance(SEVEN_HOURS)
        await shop.release()

        assert await shop.deliveries() == []


async def test_what_waits_goes_to_the_address_of_the_moment_it_leaves(shop: Workshop) -> None:
    await shop.wish(AT_NIGHT)
    for word in ("One", "Two"):
        await shop.send(word)
    await shop.wish(replace(AT_NIGHT, email="new@example.com"))

    await shop.clock.advance(SEVEN_HOURS)
    await shop.release()
    assert [mail.recipients for mail in await shop.mails(1)] == [("new@example.com",)]


async def test_a_letter_that_was_handed_over_but_not_noted_is_not_sent_again(shop: Workshop) -> None:
    """As after kill -9 between the two: the next worker hands over the same letter under the same key."""
    await shop.wish(BY_EMAIL)
    await shop.send()
    now_us = shop.clock.now_us()
    (row,) = await shop.inbox.attention.store.take_sends(now_us, lease_until_us=now_us + 1, limit=9)
    await shop.plane.submit(row.message, request_id=row.request_id, wait_seconds=0)
    await shop.mails(1)

    await shop.clock.advance(1)
    await shop.release()
    assert len(await shop.deliveries()) == len(shop.received()) == 1
    assert [copy.state for copy in await shop.copies()] == [NoticeState.SENT]


async def test_a_copy_to_ones_own_address_needs_nobodys_approval(home: Path, clock: FakeClock) -> None:
    async with workshop(home, clock, **{"approvals.enabled": True}) as shop:
        await shop.wish(AT_NIGHT)
        for word in ("One", "Two"):
            await shop.send(word)
        await shop.wish(BY_EMAIL, "bob")
        await shop.send(user_id="bob")
        await shop.clock.advance(SEVEN_HOURS)
        await shop.release()

        assert len(await shop.mails(2)) == 2


@pytest.mark.requirement("house:owners-inbox")
async def test_a_copy_for_the_operator_goes_to_the_owner(home: Path, clock: FakeClock) -> None:
    async with workshop(home, clock, **{"approvals.enabled": True, "owner.email": "olivia@home.example"}) as shop:
        await shop.wish(replace(BY_EMAIL, email=None), "operator")
        await shop.send(user_id="operator")
        await shop.release()

        assert [mail.recipients for mail in await shop.mails(1)] == [("olivia@home.example",)]


async def test_what_the_plane_refuses_for_now_is_tried_again(home: Path, clock: FakeClock) -> None:
    async with workshop(home, clock, **{"limits.recipient_per_minute": 1}) as shop:
        await shop.wish(BY_EMAIL)
        await shop.send("One")
        await shop.send("Two")
        await shop.release()
        assert len(await shop.mails(1)) == 1
        assert [copy.state for copy in await shop.copies()].count(NoticeState.HELD) == 1

        await clock.advance(60)
        await shop.release()
        assert sorted(mail.body.strip() for mail in await shop.mails(2)) == ["One", "Two"]


async def test_quiet_hours_that_are_taken_away_free_what_waits(shop: Workshop) -> None:
    await shop.wish(AT_NIGHT)
    await shop.send("One")
    await shop.send("Two")

    await shop.wish(BY_EMAIL)

    await shop.release()
    assert [mail.subject for mail in await shop.mails(1)] == ["2 notices"]


async def test_quiet_hours_that_are_moved_hold_what_waits_until_their_new_end(shop: Workshop) -> None:
    await shop.wish(AT_NIGHT)
    await shop.send()
    assert AT_NIGHT.quiet_hours_end is not None

    await shop.wish(replace(AT_NIGHT, quiet_hours_end=AT_NIGHT.quiet_hours_end.replace(hour=6)))
    await shop.release()

    assert [copy.until_us for copy in await shop.copies()] == [QUIET_ENDS_US - 3_600_000_000]
    assert shop.received() == []


async def test_quiet_hours_count_in_the_zone_that_was_named_before_there_were_any(shop: Workshop) -> None:
    await shop.wish(replace(BY_EMAIL, quiet_hours_timezone="Asia/Tokyo"))
    there = replace(BY_EMAIL, quiet_hours_timezone="Asia/Tokyo")
    await shop.wish(replace(there, quiet_hours_start=time(8), quiet_hours_end=time(12)))
    await shop.send()

    assert [copy.until_us for copy in await shop.copies()] == [QUIET_ENDS_US - 4 * HOUR_US]


async def test_urgent_notes_that_may_pass_from_now_on_are_freed_alone(shop: Workshop) -> None:
    await shop.wish(AT_NIGHT)
    await shop.send("Fire", type="warning")
    await shop.send("Tea", type="info")

    await shop.wish(replace(AT_NIGHT, high_priority_passes=True))
    await shop.release()

    assert [mail.subject for mail in await shop.mails(1)] == ["Warning: Fire"]
    assert [copy.until_us for copy in await shop.copies()][1:] == [QUIET_ENDS_US]


async def test_a_note_that_is_put_off_puts_off_its_copy_and_brought_back_frees_it(shop: Workshop) -> None:
    await shop.wish(AT_NIGHT)
    note = (await shop.send())["notification_id"]
    until_us = QUIET_ENDS_US + HOUR_US
    await shop.inbox.change("ada", note, NotificationChange.SNOOZE, until_us)
    assert [copy.until_us for copy in await shop.copies()] == [until_us]
    await shop.clock.advance(SEVEN_HOURS)
    await shop.release()
    assert shop.received() == []

    await shop.inbox.change("ada", note, NotificationChange.SNOOZE)

    await shop.release()
    assert len(await shop.mails(1)) == 1


async def test_a_copy_waits_for_the_whole_of_quiet_hours_however_long(shop: Workshop) -> None:
    await shop.wish(replace(BY_EMAIL, quiet_hours_start=time(0), quiet_hours_end=time(23, 59)))
    await shop.send(type="warning")

    assert [copy.until_us for copy in await shop.copies()] == [shop.clock.now_us() + seconds(86_340)]


@pytest.mark.requirement("attention:note-held")
async def test_who_leaves_a_note_at_night_hears_that_its_copy_is_deferred(shop: Workshop) -> None:
    await shop.wish(AT_NIGHT)
    answer = await shop.send("Good night")

    assert (answer["success"], answer["status"], answer["reasons"]) == (True, "deferred", ["quiet"])
    assert (answer["until"], answer["notice_id"]) == (to_text(QUIET_ENDS_US), answer["notification_id"])


@pytest.mark.requirement("attention:note-fields")
@pytest.mark.parametrize(
    ("wish", "until_us"),
    [
        pytest.param({"urgency": "passive"}, SLOT_US, id="passive waits for its slot"),
        pytest.param({"urgency": "normal"}, QUIET_ENDS_US, id="normal for the morning"),
        pytest.param({"urgency": "critical"}, QUIET_ENDS_US, id="critical without a grant"),
        pytest.param({"urgency": "critical", "thread": "granted"}, None, id="critical with a grant"),
    ],
)
async def test_the_policy_judges_what_the_agent_asked_for(
    shop: Workshop, wish: dict[str, Any], until_us: int | None
) -> None:
    await shop.wish(BY_EMAIL)
    agents = (("ci", AgentRule(critical=True)),) if until_us is None else None
    calm = Policy(preset=Preset.CALM, quiet_hours=(NIGHT,), agents=agents)
    await Attention(book=shop.inbox.attention).set_policy("ada", calm)
    await shop.send(agent="ci", **wish)

    assert [copy.until_us for copy in await shop.copies()] == [until_us]


@pytest.mark.requirement("attention:note-fields")
async def test_a_copy_that_asks_for_it_is_followed_until_it_is_acknowledged(shop: Workshop) -> None:
    attention = Attention(book=shop.inbox.attention)
    await shop.wish(BY_EMAIL)
    note = (await shop.send(needs_ack=True))["notification_id"]
    await shop.release()
    await shop.mails(1)
    await shop.release()
    assert [copy.state for copy in await shop.copies()] == [NoticeState.WAITING]

    await attention.ack(note, "ada")
    assert [copy.state for copy in await shop.copies()] == [NoticeState.ACKNOWLEDGED]
    assert await attention.audit() == ()


@pytest.mark.requirement("attention:note-fields")
async def test_a_newer_note_of_the_same_key_takes_the_place_of_a_copy_that_waits(shop: Workshop) -> None:
    await shop.wish(AT_NIGHT)
    for agent, word in (("ci", "Running"), ("other", "Mine"), ("ci", "Finished")):
        await shop.send(word, agent=agent, supersedes="build")
    await shop.send("Too late", agent="ci", expires_in_seconds=60)

    await shop.clock.advance(SEVEN_HOURS)
    await shop.release()
    (mail,) = await shop.mails(1)
    words = ("Running", "Mine", "Finished", "Too late")
    assert [word in mail.body for word in words] == [False, True, True, False]
    assert len(await shop.notes.page("ada", NotificationQuery(), shop.clock.now_us())) == 4


# Quiet hours have one place: what is set in the inbox is the policy's, and what is set there is the inbox's.

SIESTA = QuietWindow(time(13), time(15), ("sat", "sun"))


@dataclass(frozen=True)
class Desk:
    database: Database
    clock: FakeClock
    inbox: Inbox
    attention: Attention

    async def wish(self, after: Preferences, user_id: str = "ada") -> Preferences:
        return await self.inbox.change_preferences(user_id, lambda _: after)

    async def leave_a_note(self) -> Standing | None:
        note = a_notification(at_us=self.clock.now_us())
        created = await self.inbox.notes.create(note, hourly_cap=100, copy=self.inbox.copies.copy)
        assert created is not None
        return created[1]

    async def hours(self) -> list[int | None]:
        views = await self.attention.notices("ada")
        return [one.until_us for one in views]


@pytest.fixture
def desk(database: Database, clock: FakeClock) -> Desk:
    people = HouseholdNames(people=stored_people(database, MINT))
    book = NoticeBook(store=StoredNotices(database), people=people, clock=clock, letters=frozenset({"email"}))
    return Desk(database, clock, inbox_on(database, book, clock), Attention(book=book))


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
    assert held is not None and held.until_us == QUIET_ENDS_US
    assert [str(one.reason) for one in held.reasons] == ["quiet"]


@pytest.mark.requirement("attention:one-quiet-hours")
async def test_what_the_person_wants_now_counts_for_copies_that_already_wait(desk: Desk) -> None:
    await desk.wish(AT_NIGHT)
    await desk.leave_a_note()
    assert await desk.hours() == [QUIET_ENDS_US]
    await desk.clock.advance(60)

    await desk.attention.set_policy("ada", None)
    (freed,) = await desk.attention.notices("ada")
    assert freed.state is NoticeState.RELEASED


async def test_who_is_away_gets_no_copies_until_they_are_back(desk: Desk) -> None:
    await desk.wish(BY_EMAIL)
    start_us = desk.clock.now_us()
    back_us = start_us + seconds(2 * 86_400)
    await desk.attention.away("ada", Absence(start_us=start_us, end_us=back_us))

    held = await desk.leave_a_note()
    assert held is not None and held.until_us == back_us
    assert [str(one.reason) for one in held.reasons] == ["away"]


@pytest.mark.requirement("attention:neutral")
async def test_who_says_nothing_about_hours_has_no_policy_and_no_row(desk: Desk) -> None:
    await desk.wish(replace(BY_EMAIL, quiet_hours_timezone="Europe/Berlin", high_priority_passes=True))

    rows = await desk.database.read(lambda connection: connection.execute(select(attention_people)).all())
    assert rows == []
    assert (await desk.inbox.preferences("ada")).quiet_hours_timezone == "Europe/Berlin"


# Two real households release the same e-mails, and one of them is killed in the middle.

PEOPLE = 16
EACH = 2
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


async def fill(database: PostgresDatabase) -> None:
    """Everybody has two notifications that wait for quiet hours to end, which then end for all of them at once."""
    people = HouseholdNames(people=stored_people(database, MINT))
    clock = SystemClock()
    inbox = inbox_on(
        database,
        NoticeBook(store=StoredNotices(database), people=people, clock=clock, letters=frozenset({"email"})),
        clock,
    )
    hour = to_datetime(clock.now_us()).hour
    for number in range(PEOPLE):
        by_email = replace(BY_EMAIL, email=f"user{number}@example.com", quiet_hours_timezone="UTC")
        quiet = replace(by_email, quiet_hours_start=time(hour), quiet_hours_end=time((hour + 2) % 24))
        for wished in (quiet, by_email):
            await inbox.change_preferences(f"user{number}", lambda _, wished=wished: wished)  # type: ignore[misc]
            for _ in range(EACH if wished is quiet else 0):
                assert (await sent(inbox, user_id=f"user{number}"))["status"] == "deferred"


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
        waiting = select(func.count()).where(notice_sends.c.delivery_id.is_(None))
        moving = select(func.count()).where(delivery_requests.c.status != "delivered")
        counts = await database.read(lambda one: [one.execute(count).scalar_one() for count in (waiting, moving)])
        return counts == [0, 0]

    async with Sandbox(SandboxOptions()) as sandbox:
        sandbox.faults.arm(Fault(channel=FaultChannel.EMAIL, times=-1, delay_seconds=0.15))

        async def some_arrived() -> bool:
            return sandbox.ledger.count(ReceivedMail, from_person=False) >= 4

        with two_households(sandbox, postgres_url, tmp_path) as households:
            await fill(database)
            await until(some_arrived, "no e-mail was sent")
            os.killpg(households[0].pid, signal.SIGKILL)
            assert not await all_settled(), "killed too late to show anything"
            await until(all_settled, "the other household did not finish")
        mails = sandbox.ledger.shown(ReceivedMail, from_person=False)
    rows = select(delivery_requests.c.id, delivery_requests.c.possible_duplicate)
    deliveries = await database.read(lambda one: {row.id: row.possible_duplicate for row in one.execute(rows)})
    await database.close()

    assert len(deliveries) == PEOPLE, "one digest for each person, whoever released it"
    copies = Counter(str(mail.message_id).strip("<>").split("@")[0].split(".")[0] for mail in mails)
    assert set(copies) == set(deliveries)
    assert {one for one, count in copies.items() if count > 1} <= {one for one, marked in deliveries.items() if marked}
    assert all(mail.subject == f"{EACH} notices" for mail in mails)
