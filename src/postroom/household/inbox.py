"""Put the inbox together, and keep it running."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from postroom.attention.turn import NoticeBook
from postroom.delivery.accept import Plane
from postroom.household.store import World
from postroom.inbox.copies import ConfirmationPost
from postroom.inbox.inbox import Feed, Inbox, InboxMeter, Releaser
from postroom.inbox.model import Terms
from postroom.kernel.database.engine import KEY_PREFIX, redis_client
from postroom.kernel.running.clock import Clock
from postroom.kernel.running.loop import Signal
from postroom.settings import Settings

if TYPE_CHECKING:
    from postroom.inbox.store.hourly_cap_redis import RedisHourlyCap


@asynccontextmanager
async def running_inbox(world: World, book: NoticeBook) -> AsyncIterator[Inbox]:
    """`book`: of attention, which keeps the quiet hours."""
    settings, store, clock = world.settings, world.store, world.clock
    notes = store.notes
    feed = Feed(notes, clock)
    async with _quick_cap(settings, clock) as quick_cap:
        inbox = Inbox(
            notes=notes,
            wishes=store.preferences,
            confirmations=store.confirmations,
            attention=book,
            feed=feed,
            email_due=Signal(),
            clock=clock,
            meter=InboxMeter(world.registry),
            mint=store.ids.mint,
            hourly_cap=settings.inbox.hourly_cap,
            terms=Terms(email_enabled=settings.email_copies_on, household=book.household, zone=book.zone),
            quick_cap=quick_cap,
        )
        async with world.loops.running("inbox_feed", feed.look, wake=feed.anybody, stopping=feed.stopping):
            try:
                yield inbox
            finally:
                feed.stop()


@asynccontextmanager
async def releasing(world: World, inbox: Inbox, plane: Plane) -> AsyncIterator[Releaser]:
    """Runs where the delivery plane runs: there its letters become deliveries."""
    settings = world.settings
    releaser = Releaser(
        emails=world.store.emails,
        plane=plane,
        terms=inbox.terms,
        digest=settings.inbox.digest,
        lease_seconds=settings.inbox.lease_seconds,
        sweep_seconds=settings.inbox.sweep_seconds,
        clock=inbox.clock,
        meter=inbox.meter,
        mint=world.store.ids.mint,
        wake=inbox.email_due,
        stopping=asyncio.Event(),
        confirmations=ConfirmationPost(
            queue=inbox.confirmations,
            plane=plane,
            clock=inbox.clock,
            base_url=world.pages_url,
            lease_seconds=settings.inbox.lease_seconds,
        ),
    )
    async with world.loops.running("inbox_emails", releaser.look, wake=releaser.wake, stopping=releaser.stopping):
        yield releaser


@asynccontextmanager
async def _quick_cap(settings: Settings, clock: Clock) -> AsyncIterator[RedisHourlyCap | None]:
    if not settings.redis_url:
        yield None
        return
    async with redis_client(settings.redis_url) as client:
        from postroom.inbox.store.hourly_cap_redis import RedisHourlyCap

        yield RedisHourlyCap(client, KEY_PREFIX, clock, settings.inbox.hourly_cap)
