"""Put the inbox together, and keep it running."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from fastapi import APIRouter
from mcp.server.mcpserver import MCPServer
from prometheus_client import CollectorRegistry

from postroom.attention.turn import NoticeBook
from postroom.channels.email.building import mailbox
from postroom.delivery.plane import Plane
from postroom.household.store import OpenedStore
from postroom.inbox import acts as mcp_tool
from postroom.inbox.acts import InboxParts, confirmation_router, inbox_router
from postroom.inbox.copies import ConfirmationPost
from postroom.inbox.inbox import (
    Feed,
    HourlyCap,
    InboxActs,
    InboxWishes,
    Notifications,
    PrometheusInboxMeter,
    ReleasePolicy,
    Releaser,
)
from postroom.inbox.store.mail import StoredConfirmations, StoredEmails, StoredPreferences
from postroom.inbox.store.notes import NoQuickCap, StoredNotes
from postroom.kernel.database.engine import KEY_PREFIX, Database, redis_client
from postroom.kernel.guard.http import Verifier
from postroom.kernel.guard.tools import Rule
from postroom.kernel.running.clock import Clock
from postroom.kernel.running.loop import Loops, Signal
from postroom.kernel.values.ids import IdMint
from postroom.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbox:
    notifications: Notifications
    notes: StoredNotes
    preferences: InboxWishes
    confirmations: StoredConfirmations
    feed: Feed
    clock: Clock
    meter: PrometheusInboxMeter

    def router(self) -> APIRouter:
        return inbox_router(
            InboxParts(
                notes=self.notes,
                preferences=self.preferences,
                feed=self.feed,
                clock=self.clock,
                acts=self.acts(),
                email_enabled=self.notifications.email_enabled,
            )
        )

    def acts(self) -> InboxActs:
        """The same for every door."""
        return InboxActs(
            notes=self.notes,
            preferences=self.preferences,
            address=mailbox,
            ring=self.feed.ring,
            email_due=self.notifications.email_due.ring,
        )

    def confirmation_router(self) -> APIRouter:
        return confirmation_router(self.confirmations, self.clock)

    def add_tools(self, server: MCPServer[Any], verifier: Verifier) -> dict[str, Rule]:
        return mcp_tool.add_tools(server, self.notifications, verifier)


@asynccontextmanager
async def running_inbox(
    settings: Settings,
    store: OpenedStore,
    book: NoticeBook,
    registry: CollectorRegistry,
    clock: Clock,
    mint: IdMint,
    loops: Loops,
) -> AsyncIterator[Inbox]:
    """`book`: of attention, which keeps the quiet hours."""
    database = store.database
    notes, meter = StoredNotes(database, mint.mint), PrometheusInboxMeter(registry)
    feed = Feed(notes, clock)
    async with _hourly_cap(settings, clock) as cap:
        inbox = Inbox(
            notifications=Notifications(
                notes=notes,
                cap=cap,
                feed=feed,
                email_due=Signal(),
                clock=clock,
                meter=meter,
                mint=mint.mint,
                hourly_cap=settings.inbox.hourly_cap,
                email_enabled=settings.email_copies_on,
                household=book.household,
                zone=book.zone,
            ),
            notes=notes,
            preferences=InboxWishes(rows=StoredPreferences(database), book=book),
            confirmations=StoredConfirmations(database, store.people),
            feed=feed,
            clock=clock,
            meter=meter,
        )
        async with loops.running("inbox_feed", feed.look, wake=feed.anybody, stopping=feed.stopping):
            try:
                yield inbox
            finally:
                feed.stop()


@asynccontextmanager
async def releasing(
    settings: Settings,
    database: Database,
    inbox: Inbox,
    plane: Plane,
    mint: IdMint,
    api_url: str,
    loops: Loops,
) -> AsyncIterator[Releaser]:
    """Runs where the delivery plane runs: there its letters become deliveries."""
    confirmations = ConfirmationPost(
        queue=inbox.confirmations,
        plane=plane,
        clock=inbox.clock,
        base_url=api_url,
        lease_seconds=settings.inbox.lease_seconds,
    )
    releaser = Releaser(
        emails=StoredEmails(database),
        plane=plane,
        policy=replace(
            release_policy(settings), household=inbox.notifications.household, zone=inbox.notifications.zone
        ),
        clock=inbox.clock,
        meter=inbox.meter,
        mint=mint.mint,
        wake=inbox.notifications.email_due,
        stopping=asyncio.Event(),
        confirmations=confirmations,
    )
    async with loops.running("inbox_emails", releaser.look, wake=releaser.wake, stopping=releaser.stopping):
        yield releaser


def release_policy(settings: Settings) -> ReleasePolicy:
    return ReleasePolicy(
        email_enabled=settings.email_copies_on,
        digest=settings.inbox.digest,
        lease_seconds=settings.inbox.lease_seconds,
        sweep_seconds=settings.inbox.sweep_seconds,
    )


@asynccontextmanager
async def _hourly_cap(settings: Settings, clock: Clock) -> AsyncIterator[HourlyCap]:
    if not settings.redis_url:
        yield NoQuickCap()
        return
    async with redis_client(settings.redis_url) as client:
        from postroom.inbox.store.hourly_cap_redis import RedisHourlyCap

        yield RedisHourlyCap(client, KEY_PREFIX, clock, settings.inbox.hourly_cap)
