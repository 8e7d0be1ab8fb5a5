"""What the inbox counts and writes down, and what it never does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs
from tests.clock import START_US, FakeClock
from tests.inbox.examples import BY_EMAIL, a_notification
from tests.inbox.workshop import Workshop, workshop
from tests.support.counted import CountedLoops
from tests.support.redis_server import fresh_prefix, own_redis

from postroom.attention.considering import noticed
from postroom.attention.model import NoticeState
from postroom.attention.state import Standing
from postroom.inbox.copies import outgoing
from postroom.inbox.inbox import LOOK_SECONDS, Feed, InboxMeter
from postroom.inbox.model import (
    Notification,
    NotificationChange,
    NotificationQuery,
)
from postroom.inbox.store.hourly_cap_redis import RedisHourlyCap
from postroom.inbox.store.notes import StoredNotes
from postroom.kernel.database.redis_script import connect
from postroom.kernel.database.sqlite import SqliteDatabase
from postroom.kernel.values.ids import is_uuid

NOTE = a_notification(message="Canary text", correlation_id="k1")


@pytest.mark.parametrize(
    ("state", "label"),
    [(NoticeState.RELEASED, "now"), (NoticeState.HELD, "later"), (NoticeState.MUTED, "none"), (None, "none")],
    ids=str,
)
@pytest.mark.requirement("inbox:side-effect-log")
def test_a_creation_is_counted_by_what_becomes_of_its_e_mail(state: NoticeState | None, label: str) -> None:
    registry = CollectorRegistry()
    notice = noticed(outgoing(NOTE, "canary@example.com"), NOTE.id, "ada", START_US)
    with capture_logs() as logs:
        InboxMeter(registry).created(NOTE, Standing(notice=notice, state=state) if state is not None else None)

    labels = {"type": "reminder", "email": label}
    assert registry.get_sample_value("postroom_notification_created_total", labels) == 1
    assert logs[0]["correlation_id"] == "k1"
    assert "anary" not in str(logs)


def test_what_was_above_the_cap_is_counted() -> None:
    registry = CollectorRegistry()
    InboxMeter(registry).limited("ada", "k1")

    assert registry.get_sample_value("postroom_notification_limited_total") == 1


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


async def test_nobody_asks_the_store_while_nobody_listens(feed: Feed, clock: FakeClock) -> None:
    with feed.listening("ada"):
        await clock.parked()
    await clock.advance(LOOK_SECONDS)

    assert clock.waiting == 0


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
    due = shop.inbox.attention.woken.news()
    assert (await shop.send())["success"]

    assert due.is_set()
    assert await shop.deliveries() == []
    assert [copy.state for copy in await shop.copies()] == [NoticeState.RELEASED]
