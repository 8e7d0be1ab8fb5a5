"""What the inbox counts and writes down, and what it never does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import time
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs
from tests.clock import START_US, FakeClock
from tests.inbox.examples import AT_NIGHT, BY_EMAIL, QUIET_ENDS_US, a_notification
from tests.inbox.workshop import Workshop, workshop
from tests.patience import PATIENCE_SECONDS
from tests.support.counted import CountedLoops
from tests.support.redis_server import fresh_prefix, own_redis

from postroom.attention.model import AgentRule, Policy, Preset, QuietWindow
from postroom.inbox.inbox import LOOK_SECONDS, Feed, InboxMeter
from postroom.inbox.model import (
    Batch,
    Defer,
    DeliveryChannel,
    Drop,
    Ending,
    GivenUp,
    HandedOver,
    Notification,
    NotificationChange,
    NotificationQuery,
    Preferences,
    SendNow,
    Terms,
    TryAgain,
    Verdict,
)
from postroom.inbox.preferences import judge
from postroom.inbox.store.hourly_cap_redis import RedisHourlyCap
from postroom.inbox.store.notes import StoredNotes
from postroom.kernel.database.redis_script import connect
from postroom.kernel.database.sqlite import SqliteDatabase
from postroom.kernel.values.ids import is_uuid, seconds
from postroom.message.delivery import Priority
from postroom.message.wishes import AttentionWish, Urgency

NOTE = a_notification(message="Canary text", correlation_id="k1")
BATCH = Batch(
    id="b1", fence=1, attempts=0, user_id="ada", address="canary@example.com", zone="UTC", notifications=[NOTE]
)


@pytest.mark.parametrize(
    ("email", "label"),
    [(SendNow("canary@example.com"), "now"), (Defer(START_US), "later"), (Drop("read"), "none")],
    ids=str,
)
@pytest.mark.requirement("inbox:side-effect-log")
def test_a_creation_is_counted_by_what_becomes_of_its_e_mail(email: Verdict, label: str) -> None:
    registry = CollectorRegistry()
    with capture_logs() as logs:
        InboxMeter(registry).created(NOTE, email)

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
        InboxMeter(registry).handed_over(BATCH, ending)

    assert registry.get_sample_value("postroom_notification_email_total", {"outcome": outcome}) == 1
    assert logs[0]["outcome"] == outcome
    assert "anary" not in str(logs)


def test_what_was_above_the_cap_is_counted() -> None:
    registry = CollectorRegistry()
    InboxMeter(registry).limited("ada", "k1")

    assert registry.get_sample_value("postroom_notification_limited_total") == 1


LATER_US = START_US + 60_000_000


@pytest.fixture
async def shop(home: Path, clock: FakeClock) -> AsyncIterator[Workshop]:
    async with workshop(home, clock) as shop:
        yield shop


@pytest.fixture
async def note(shop: Workshop) -> Notification:
    await shop.send()
    (note,) = await shop.notes.page("ada", NotificationQuery(), shop.clock.now_us())
    await shop.clock.advance(60)
    return note


async def test_a_change_is_written_and_told_to_those_who_watch(shop: Workshop, note: Notification) -> None:
    with shop.inbox.feed.listening("ada") as signal:
        news = signal.news()
        after = await shop.inbox.change("ada", note.id, NotificationChange.READ)

    assert after is not None and after.read_at_us == LATER_US
    assert news.is_set()


async def test_what_lies_in_another_inbox_is_not_touched_and_nobody_is_rung(shop: Workshop, note: Notification) -> None:
    with shop.inbox.feed.listening("ada") as ada, shop.inbox.feed.listening("bob") as bob:
        heard = [ada.news(), bob.news()]
        assert await shop.inbox.change("bob", note.id, NotificationChange.DISMISS) is None
        assert await shop.inbox.change("bob", note.id, NotificationChange.RESTORE) is None
        assert [news.is_set() for news in heard] == [False, False]
    assert await shop.inbox.read_all("ada") == 1


async def test_what_was_dismissed_can_be_brought_back(shop: Workshop, note: Notification) -> None:
    await shop.inbox.change("ada", note.id, NotificationChange.DISMISS)

    after = await shop.inbox.change("ada", note.id, NotificationChange.RESTORE)

    assert after is not None and after.dismissed_at_us is None


@pytest.mark.parametrize("confirmed", [True, False], ids=["the operator's word", "a wish"])
async def test_an_address_that_must_be_confirmed_is_written_to_at_once(shop: Workshop, confirmed: bool) -> None:
    due = shop.inbox.email_due.news()
    await shop.inbox.prefer("ada", BY_EMAIL, ["email"], confirmed=confirmed)

    assert due.is_set() is not confirmed


DEFERRAL_NOTE = a_notification()
URGENT = replace(DEFERRAL_NOTE, priority=Priority.HIGH)
LENIENT = replace(AT_NIGHT, high_priority_passes=True)
ADA = SendNow("ada@example.com")


@pytest.mark.requirement("inbox:side-effect-email", "inbox:side-effect-deferred-email")
@pytest.mark.parametrize(
    ("notification", "preferences", "expected"),
    [
        pytest.param(DEFERRAL_NOTE, BY_EMAIL, ADA, id="wanted"),
        pytest.param(DEFERRAL_NOTE, replace(BY_EMAIL, delivery_channel=DeliveryChannel.EMAIL), ADA, id="e-mail alone"),
        pytest.param(
            DEFERRAL_NOTE, Preferences(email="ada@example.com"), Drop("the person wants no e-mail"), id="in app"
        ),
        pytest.param(DEFERRAL_NOTE, replace(BY_EMAIL, email=None), Drop("no address is known"), id="no address"),
        pytest.param(DEFERRAL_NOTE, AT_NIGHT, Defer(QUIET_ENDS_US), id="at night"),
        pytest.param(URGENT, AT_NIGHT, Defer(QUIET_ENDS_US), id="urgent, and not allowed to pass"),
        pytest.param(URGENT, LENIENT, ADA, id="urgent, and allowed to pass"),
        pytest.param(DEFERRAL_NOTE, LENIENT, Defer(QUIET_ENDS_US), id="only urgent ones may pass"),
        pytest.param(replace(DEFERRAL_NOTE, dismissed_at_us=1), BY_EMAIL, Drop("dismissed"), id="dismissed"),
        pytest.param(replace(DEFERRAL_NOTE, archived_at_us=1), BY_EMAIL, Drop("archived"), id="archived"),
        pytest.param(replace(DEFERRAL_NOTE, read_at_us=1), AT_NIGHT, Drop("read"), id="read in the app"),
        pytest.param(
            replace(DEFERRAL_NOTE, snoozed_until_us=START_US + 5), BY_EMAIL, Defer(START_US + 5), id="snoozed"
        ),
        pytest.param(replace(DEFERRAL_NOTE, snoozed_until_us=START_US), BY_EMAIL, ADA, id="no longer snoozed"),
    ],
)
def test_the_verdict(notification: Notification, preferences: Preferences, expected: Verdict) -> None:
    assert judge(notification, preferences, Terms(True), START_US) == expected


def test_while_e_mail_is_switched_off_nobody_gets_any() -> None:
    assert judge(DEFERRAL_NOTE, BY_EMAIL, Terms(False), START_US) == Drop("e-mail is switched off")


def test_when_the_night_is_over_it_goes() -> None:
    assert judge(DEFERRAL_NOTE, AT_NIGHT, Terms(True), QUIET_ENDS_US) == ADA


def asking(**wish: Any) -> Notification:
    return replace(DEFERRAL_NOTE, agent="ci", wish=AttentionWish(**wish))


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
        pytest.param(
            DEFERRAL_NOTE, LONG, Defer(START_US + seconds(86_340)), id="the whole of quiet hours, however long"
        ),
    ],
)
def test_the_policy_judges_what_the_agent_asked_for(
    notification: Notification, policy: Policy | None, expected: Verdict
) -> None:
    assert judge(notification, BY_EMAIL, Terms(True, policy), START_US) == expected


@pytest.mark.requirement("attention:note-fields")
def test_what_has_expired_is_not_mailed() -> None:
    later_us = START_US + seconds(60)
    expired = Drop("expired")
    assert judge(asking(expires_in_seconds=60), BY_EMAIL, Terms(True), later_us) == expired


@pytest.fixture
async def notes(tmp_path: Path) -> AsyncIterator[StoredNotes]:
    database = SqliteDatabase(tmp_path / "inbox.db")
    await database.migrate()
    yield StoredNotes(database)
    await database.close()


@pytest.fixture
async def feed(notes: StoredNotes, clock: FakeClock) -> AsyncIterator[Feed]:
    feed = Feed(notes, clock)
    async with CountedLoops(clock).running("feed", feed.look, wake=feed.anybody, stopping=feed.stopping):
        yield feed
        feed.stop()


async def keep_elsewhere(notes: StoredNotes, user_id: str) -> None:
    """As another process would: without a word to this one."""
    new = a_notification(user_id, at_us=START_US)
    assert await notes.create(new, hourly_cap=10, terms=Terms(email_enabled=False)) is not None


async def test_what_happens_here_rings_at_once_and_for_its_owner_alone(feed: Feed) -> None:
    with feed.listening("ada") as ada, feed.listening("ada") as another, feed.listening("bob") as bob:
        heard = [signal.news() for signal in (ada, another, bob)]
        feed.ring("ada")

        assert [news.is_set() for news in heard] == [True, True, False]


async def test_what_happens_elsewhere_rings_at_the_next_look(feed: Feed, notes: StoredNotes, clock: FakeClock) -> None:
    with feed.listening("ada") as ada, feed.listening("bob") as bob:
        first, bobs = ada.news(), bob.news()
        await clock.parked()
        await keep_elsewhere(notes, "ada")
        await clock.advance(LOOK_SECONDS)
        await asyncio.wait_for(first.wait(), PATIENCE_SECONDS)
        second = ada.news()
        await clock.parked()
        await clock.advance(LOOK_SECONDS)
        await clock.parked()

        assert not second.is_set(), "nothing new has happened"
        assert not bobs.is_set()


async def test_nobody_asks_the_store_while_nobody_listens(feed: Feed, clock: FakeClock) -> None:
    with feed.listening("ada"):
        await clock.parked()
    await clock.advance(LOOK_SECONDS)

    assert clock.waiting == 0


async def test_when_it_stops_every_listener_is_woken(feed: Feed) -> None:
    with feed.listening("ada") as signal:
        news = signal.news()
        feed.stop()

        assert (news.is_set(), signal.is_closed, feed.stopping.is_set()) == (True, True, True)
    with feed.listening("bob") as late:
        assert late.is_closed


@pytest.mark.requirement(
    "inbox:response-success", "inbox:side-effect-row", "inbox:context-user-id", "inbox:context-conversation-id"
)
async def test_a_notification_is_kept_for_its_owner_with_its_source(shop: Workshop) -> None:
    answer = await shop.send("Dentist at nine", type="reminder", conversation_id="c1", correlation_id="k1")

    (kept,) = await shop.notes.page("ada", NotificationQuery(), shop.clock.now_us())
    assert answer == {
        "success": True,
        "action": "notification_created",
        "message": "Notification created: Dentist at nine",
        "notification_id": kept.id,
        "type": "reminder",
    }
    assert is_uuid(kept.id)
    assert (kept.message, kept.type, kept.conversation_id, kept.correlation_id, kept.read_at_us) == (
        "Dentist at nine",
        "reminder",
        "c1",
        "k1",
        None,
    )


@pytest.mark.requirement("inbox:side-effect-log", "inbox:context-correlation-id")
async def test_the_log_knows_the_correlation_and_not_a_word_of_the_message(shop: Workshop) -> None:
    await shop.wish(BY_EMAIL)
    with capture_logs() as logs:
        await shop.send("Canary text", correlation_id="k1", conversation_id="c1")

    (created,) = [one for one in logs if one["event"] == "notification.created"]
    assert (created["correlation_id"], created["conversation_id"], created["user_id"]) == ("k1", "c1", "ada")
    assert "Canary" not in str(logs)
    assert "example.com" not in str(logs)


@pytest.mark.parametrize(
    "wrong", [{"message": ""}, {"message": "x" * 501}, {"type": "urgent"}, {"user_id": " "}], ids=str
)
@pytest.mark.requirement("inbox:response-validation-error", "inbox:validation-user-id")
async def test_a_wrong_call_is_answered_and_leaves_nothing(shop: Workshop, wrong: dict[str, Any]) -> None:
    answer = await shop.send(**{"message": "Hello", "user_id": "ada", **wrong})

    assert (answer["success"], answer["action"]) == (False, "validation_error")
    assert set(answer) == {"success", "action", "message"}
    assert await shop.notes.page("ada", NotificationQuery(), shop.clock.now_us()) == []


@pytest.mark.requirement("inbox:validation-rate-limit", "inbox:response-rate-limited")
async def test_forty_at_once_under_a_cap_of_ten_are_ten(shop: Workshop) -> None:
    answers = await asyncio.gather(*(shop.send(str(number)) for number in range(40)))

    assert sum(answer["success"] for answer in answers) == 10
    assert {answer["message"] for answer in answers if not answer["success"]} == {
        "Notification rate limit exceeded. Try again later."
    }
    assert (await shop.send(user_id="bob"))["success"]
    await shop.clock.advance(3600)
    assert (await shop.send())["success"]


@pytest.mark.requirement("inbox:validation-rate-limit")
async def test_redis_may_die_and_come_back_empty_and_the_cap_still_holds(home: Path, clock: FakeClock) -> None:
    with own_redis() as server:
        client = connect(server.url)
        cap = RedisHourlyCap(client, fresh_prefix(), clock, 10)
        async with workshop(home, clock, cap) as shop:
            before = [await shop.send(str(number)) for number in range(6)]
            server.stop()
            during = await asyncio.gather(*(shop.send(str(number)) for number in range(20)))
            server.start()
            await cap.reach.look()
            after = await asyncio.gather(*(shop.send(str(number)) for number in range(20)))
            kept = await shop.notes.page("ada", NotificationQuery(limit=100), clock.now_us())
        await client.aclose()

    assert all(answer["success"] for answer in before)
    assert [sum(answer["success"] for answer in group) for group in (during, after)] == [4, 0]
    assert {answer["action"] for answer in (*during, *after)} == {"notification_created", "rate_limited"}
    assert len(kept) == 10


async def test_what_could_not_be_written_is_not_counted_on_redis(home: Path, clock: FakeClock, redis_url: str) -> None:
    client = connect(redis_url)
    cap = RedisHourlyCap(client, fresh_prefix(), clock, 1)
    async with workshop(home, clock, cap, **{"inbox.hourly_cap": 1}) as shop:
        await shop.store.database.write(lambda one: one.exec_driver_sql("ALTER TABLE notifications RENAME TO away"))
        failed = await shop.send()
        await shop.store.database.write(lambda one: one.exec_driver_sql("ALTER TABLE away RENAME TO notifications"))
        assert (await shop.send())["success"]
    await client.aclose()

    assert failed == {
        "success": False,
        "action": "error",
        "message": "Failed to create notification: the inbox is not available right now",
    }


@pytest.mark.requirement("inbox:side-effect-email")
async def test_the_caller_does_not_wait_for_the_e_mail(shop: Workshop) -> None:
    await shop.wish(BY_EMAIL)
    due = shop.inbox.email_due.news()
    assert (await shop.send())["success"]

    assert due.is_set()
    assert await shop.deliveries() == []
    assert [row["delivered_at"] for row in await shop.rows()] == [None]
