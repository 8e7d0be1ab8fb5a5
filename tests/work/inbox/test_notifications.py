"""`send_notification`, from the request to the row, the cap and the log."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs
from tests.clock import FakeClock
from tests.work.inbox.examples import BY_EMAIL
from tests.work.inbox.workshop import Workshop, workshop
from tests.world.store.redis_server import fresh_prefix, own_redis

from postroom.domain.ids import is_uuid
from postroom.domain.notification import NotificationQuery
from postroom.work.inbox.request import Request
from postroom.world.store.shared.hourly_cap_redis import RedisHourlyCap
from postroom.world.store.shared.redis_script import connect


@pytest.fixture
async def shop(home: Path, clock: FakeClock) -> AsyncIterator[Workshop]:
    async with workshop(home, clock) as shop:
        yield shop


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
    "wrong", [{"message": ""}, {"message": "x" * 501}, {"type": "urgent"}, {"user_id": None}], ids=str
)
@pytest.mark.requirement("inbox:response-validation-error", "inbox:validation-user-id")
async def test_a_wrong_call_is_answered_and_leaves_nothing(shop: Workshop, wrong: dict[str, Any]) -> None:
    answer = await shop.notifications.send(Request(**{"message": "Hello", "user_id": "ada", **wrong}))

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
    due = shop.notifications.email_due.news()
    assert (await shop.send())["success"]

    assert due.is_set()
    assert await shop.deliveries() == []
    assert [row["delivered_at"] for row in await shop.rows()] == [None]
