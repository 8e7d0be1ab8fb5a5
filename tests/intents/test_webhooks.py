from __future__ import annotations

import hashlib
import hmac
import json

from tests.intents.conftest import MINT, Office

from postroom.domain.agent_address import HOUSEHOLD_OWNER
from postroom.domain.time import SECOND_US
from postroom.domain.webhook import Subscription, WebhookEvent
from postroom.intents.threads import Acting
from postroom.intents.webhooks import PAUSES_SECONDS, SIGNATURE_HEADER, signature

ANN = "agent://user/ann"
SECRET = "0123456789abcdef"


async def subscribe(office: Office, *kinds: WebhookEvent, url: str = "http://subscriber.example/hook") -> Subscription:
    now = office.clock.now_us()
    return await office.subscriptions.save(
        Subscription(
            id=MINT.mint(now),
            owner_agent=ANN,
            callback_url=url,
            event_types=kinds or tuple(WebhookEvent),
            secret=SECRET,
            active=True,
            description="",
            created_at_us=now,
            updated_at_us=now,
        )
    )


def kinds(office: Office) -> list[str]:
    return [json.loads(body)["event_type"] for _, body, _ in office.subscribers.posted]


async def test_news_is_told_with_a_signature_that_holds(office: Office) -> None:
    await subscribe(office)
    intent = await office.ask(ANN, "the secret words")
    await office.work()
    await office.threads.reply(Acting(ANN, by_person=True), intent.id, "more secret words")
    await office.work()

    assert kinds(office) == [
        "inbox.thread_created",
        "inbox.thread_updated",
        "inbox.thread_updated",
        "inbox.reply_received",
    ]
    for _, body, headers in office.subscribers.posted:
        stamp, digest = (part.split("=", 1)[1] for part in headers[SIGNATURE_HEADER].split(","))
        expected = hmac.new(SECRET.encode(), stamp.encode() + b"." + body, hashlib.sha256).hexdigest()
        assert digest == expected
        assert int(stamp) == office.clock.now_us() // SECOND_US
        assert b"secret words" not in body


async def test_only_what_was_asked_for_is_told(office: Office) -> None:
    await subscribe(office, WebhookEvent.REPLY_RECEIVED)
    await office.ask(ANN)
    await office.ask("agent://x/y", sender=HOUSEHOLD_OWNER)
    await office.work()

    assert office.subscribers.posted == []


async def test_a_subscriber_in_trouble_is_tried_again_and_then_given_up(office: Office) -> None:
    await subscribe(office, WebhookEvent.THREAD_CREATED)
    office.subscribers.answers = [500] * 10
    await office.ask(ANN)
    await office.work()

    for attempt, pause in enumerate(PAUSES_SECONDS, 1):
        assert len(office.subscribers.posted) == attempt
        await office.later(pause - 1)
        assert len(office.subscribers.posted) == attempt
        await office.later(1)
    await office.later(10_000)

    assert len(office.subscribers.posted) == 1 + len(PAUSES_SECONDS)
    assert len({headers["X-Postroom-Delivery"] for _, _, headers in office.subscribers.posted}) == 1


async def test_saving_the_same_address_again_changes_it(office: Office) -> None:
    first = await subscribe(office)
    second = await subscribe(office, WebhookEvent.REPLY_RECEIVED)

    assert second.id == first.id
    assert [one.event_types for one in await office.subscriptions.listed(ANN)] == [(WebhookEvent.REPLY_RECEIVED,)]
    assert await office.subscriptions.delete(ANN, first.id)
    assert await office.subscriptions.listed(ANN) == []


def test_a_signature_covers_time_and_body() -> None:
    signed = {signature(SECRET, time, body) for time in (1, 2) for body in (b"a", b"b")}

    assert len(signed) == 4


def test_a_subscription_never_shows_its_secret() -> None:
    shown = Subscription(
        id="1", owner_agent=ANN, callback_url="http://x", event_types=(), secret=SECRET, active=True,
        description="", created_at_us=0, updated_at_us=0,
    )  # fmt: skip

    assert SECRET not in repr(shown)
