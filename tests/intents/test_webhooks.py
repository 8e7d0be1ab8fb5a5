from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web
from aiohttp.test_utils import TestServer
from tests.intents.office import MINT, Office

from postroom.delivery.afterwards.webhooks import (
    PAUSES_SECONDS,
    Subscription,
    WebhookEvent,
    WebhookPost,
    Webhooks,
)
from postroom.intents.directory import Acting
from postroom.kernel.values.ids import SECOND_US
from postroom.kernel.values.principal import HOUSEHOLD_OWNER
from postroom.kernel.webhooks import FORMER_HEADER, former_signature

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
        stamp, digest = (part.split("=", 1)[1] for part in headers[FORMER_HEADER].split(","))
        expected = hmac.new(SECRET.encode(), stamp.encode() + b"." + body, hashlib.sha256).hexdigest()
        assert digest == expected
        assert int(stamp) == office.clock.now_us() // SECOND_US
        assert b"secret words" not in body
        signed = f"{headers['webhook-id']}.{stamp}.".encode() + body
        standard = base64.b64encode(hmac.digest(SECRET.encode(), signed, "sha256")).decode()
        assert (headers["webhook-timestamp"], headers["webhook-signature"]) == (stamp, f"v1,{standard}")
    assert len({headers["webhook-id"] for _, _, headers in office.subscribers.posted}) == 4


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
    assert (
        len({(headers["webhook-id"], headers["X-Postroom-Delivery"]) for _, _, headers in office.subscribers.posted})
        == 1
    )


@dataclass(slots=True)
class Hooks:
    """Two subscribers on real sockets: one that never answers, and one that does."""

    heard: asyncio.Queue[str] = field(default_factory=asyncio.Queue)
    called: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    stalled: int = 0

    async def stall(self, _request: web.Request) -> web.Response:
        self.stalled += 1
        self.called.set()
        await self.ended.wait()
        return web.Response()

    async def hear(self, request: web.Request) -> web.Response:
        await self.heard.put((await request.json())["event_type"])
        return web.Response()


@asynccontextmanager
async def hooks_at_work() -> AsyncIterator[tuple[Hooks, TestServer]]:
    hooks, application = Hooks(), web.Application()
    application.add_routes([web.post("/stalls", hooks.stall), web.post("/hears", hooks.hear)])
    async with TestServer(application) as server:
        yield hooks, server
        hooks.ended.set()


async def test_a_subscriber_that_stalls_delays_neither_asks_nor_other_subscribers(office: Office) -> None:
    bob = await office.person("Bob", telegram="2001")
    poster = WebhookPost()
    webhooks = Webhooks(store=office.subscriptions, poster=poster, clock=office.clock)
    async with hooks_at_work() as (hooks, server), asyncio.timeout(60):
        await subscribe(office, WebhookEvent.THREAD_CREATED, url=str(server.make_url("/stalls")))
        for number in range(120):
            await office.ask(ANN, f"Number {number}")
        await webhooks.look()
        await hooks.called.wait()
        await subscribe(office, WebhookEvent.THREAD_CREATED, url=str(server.make_url("/hears")))

        await office.ask(bob.agent_address, "Late?", reply_to=ANN)
        while not office.post.sent:
            await office.times.look()
        await webhooks.look()
        told = await hooks.heard.get()
        await webhooks.stop(0)

    assert (office.post.said, told, hooks.stalled) == ([("2001", "Late?")], "inbox.thread_created", 1)


async def test_saving_the_same_address_again_changes_it(office: Office) -> None:
    first = await subscribe(office)
    second = await subscribe(office, WebhookEvent.REPLY_RECEIVED)

    assert second.id == first.id
    assert [one.event_types for one in await office.subscriptions.listed(ANN)] == [(WebhookEvent.REPLY_RECEIVED,)]
    assert await office.subscriptions.delete(ANN, first.id)
    assert await office.subscriptions.listed(ANN) == []


def test_the_former_signature_covers_time_and_body() -> None:
    signed = {former_signature(SECRET, time, body) for time in (1, 2) for body in (b"a", b"b")}

    assert len(signed) == 4


def test_a_subscription_never_shows_its_secret() -> None:
    shown = Subscription(
        id="1", owner_agent=ANN, callback_url="http://x", event_types=(), secret=SECRET, active=True,
        description="", created_at_us=0, updated_at_us=0,
    )  # fmt: skip

    assert SECRET not in repr(shown)
