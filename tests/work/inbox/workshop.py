"""An inbox with a real delivery plane and a real mail server behind it, under the test's own clock."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry
from sqlalchemy import select
from tests.clock import FakeClock
from tests.system.counted import CountedLoops

from postroom.app.attention import build_attention
from postroom.app.channels import build_channels
from postroom.app.inbox import release_policy
from postroom.app.people_seeds import keep_in_step
from postroom.app.plane import build_plane, dispatching
from postroom.app.sandbox_channel import SandboxAddress
from postroom.app.shared_state import shared_state
from postroom.app.store import OpenedStore, open_store
from postroom.domain.ids import IdMint
from postroom.domain.notification import Preferences
from postroom.domain.ports import Channel
from postroom.programs.sandbox.records import ReceivedMail
from postroom.programs.sandbox.server import Sandbox, serve
from postroom.system.settings import Settings
from postroom.system.settings.load import load
from postroom.system.signal import Signal
from postroom.system.telemetry.inbox_meter import PrometheusInboxMeter
from postroom.work.delivery.plane import Plane
from postroom.work.inbox.feed import Feed
from postroom.work.inbox.notifications import Notifications
from postroom.work.inbox.ports import HourlyCap
from postroom.work.inbox.release import Releaser
from postroom.work.inbox.request import Request
from postroom.work.inbox.wishes import InboxWishes
from postroom.world.store.inbox.emails import StoredEmails
from postroom.world.store.inbox.hourly_cap_database import NoQuickCap
from postroom.world.store.inbox.inbox import StoredNotes
from postroom.world.store.inbox.preferences import StoredPreferences
from postroom.world.store.tables.deliveries import delivery_requests
from postroom.world.store.tables.inbox import deferred_emails


@dataclass(frozen=True, slots=True, kw_only=True)
class Workshop:
    settings: Settings
    store: OpenedStore
    sandbox: Sandbox
    plane: Plane
    clock: FakeClock
    notes: StoredNotes
    preferences: InboxWishes
    notifications: Notifications
    releaser: Releaser

    async def wish(self, preferences: Preferences, user_id: str = "ada") -> None:
        await self.preferences.change(user_id, lambda _: preferences, self.clock.now_us())

    async def send(self, message: str = "The dentist is at nine", user_id: str = "ada", **fields: Any) -> Any:
        return await self.notifications.send(Request(message=message, user_id=user_id, **fields))

    async def rows(self) -> list[dict[str, Any]]:
        found = select(deferred_emails).order_by(deferred_emails.c.id)
        return await self.store.database.read(
            lambda connection: [dict(row) for row in connection.execute(found).mappings()]
        )

    async def deliveries(self) -> list[dict[str, Any]]:
        found = select(delivery_requests).order_by(delivery_requests.c.id)
        return await self.store.database.read(
            lambda connection: [dict(row) for row in connection.execute(found).mappings()]
        )

    async def mails(self, count: int) -> list[ReceivedMail]:
        """What the mail server holds, once it holds that many."""
        for _ in range(1_000):
            if len(found := self.received()) >= count:
                return found
            await asyncio.sleep(0.01)
        raise AssertionError(f"only {len(found)} of {count} e-mails arrived")

    def received(self) -> list[ReceivedMail]:
        return [one.mail for one in self.sandbox.ledger.email.mails(from_person=False, since=0, limit=1000)]


@asynccontextmanager
async def workshop(
    home: Path, clock: FakeClock, cap: HourlyCap | None = None, **overrides: Any
) -> AsyncIterator[Workshop]:
    settings, _ = load({}, {"home": str(home), "inbox.email_enabled": True, **overrides})
    mint, registry = IdMint(), CollectorRegistry()
    async with serve() as sandbox, open_store(settings) as store, shared_state(settings, clock) as shared:
        channels = build_channels(settings, SandboxAddress("127.0.0.1", sandbox.bot_api_port, sandbox.smtp_port))
        await keep_in_step(settings, store.people, clock.now_us())
        plane = build_plane(settings, store, channels, shared, registry, clock, mint)
        await plane.dispatcher.start()
        notes, meter, due = StoredNotes(store.database, mint.mint), PrometheusInboxMeter(registry), Signal()
        async with _closing(channels), dispatching(plane, CountedLoops(clock)):
            yield Workshop(
                settings=settings,
                store=store,
                sandbox=sandbox,
                plane=plane,
                clock=clock,
                notes=notes,
                preferences=InboxWishes(
                    rows=StoredPreferences(store.database), book=build_attention(settings, store, clock).book
                ),
                notifications=Notifications(
                    notes=notes,
                    cap=cap or NoQuickCap(),
                    feed=Feed(notes, clock),
                    email_due=due,
                    clock=clock,
                    meter=meter,
                    mint=mint.mint,
                    hourly_cap=settings.inbox.hourly_cap,
                    email_enabled=settings.email_copies_on,
                ),
                releaser=Releaser(
                    emails=StoredEmails(store.database),
                    plane=plane,
                    policy=release_policy(settings),
                    clock=clock,
                    meter=meter,
                    mint=mint.mint,
                    wake=due,
                    stopping=asyncio.Event(),
                ),
            )


@asynccontextmanager
async def _closing(channels: Mapping[str, Channel]) -> AsyncIterator[None]:
    try:
        yield
    finally:
        for channel in channels.values():
            await channel.close()
