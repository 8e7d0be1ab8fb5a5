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
from tests.inbox.examples import MINT
from tests.inbox.sending import sent
from tests.support.counted import CountedLoops

from postroom.attention.turn import NoticeBook
from postroom.delivery.accept import Plane
from postroom.delivery.store.tables import delivery_requests
from postroom.household.attention import build_attention
from postroom.household.channels import build_channels
from postroom.household.delivery import build_plane, dispatching, shared_state
from postroom.household.people import keep_in_step
from postroom.household.store import Premises, Store, open_store, stored_people
from postroom.inbox.inbox import (
    Feed,
    Inbox,
    InboxMeter,
    Releaser,
)
from postroom.inbox.model import Preferences, Terms
from postroom.inbox.store.hourly_cap_redis import RedisHourlyCap
from postroom.inbox.store.mail import StoredConfirmations, StoredEmails, StoredPreferences
from postroom.inbox.store.notes import StoredNotes
from postroom.inbox.store.waiting import deferred_emails
from postroom.kernel.database.engine import Database
from postroom.kernel.running.clock import Clock
from postroom.kernel.running.loop import Signal
from postroom.kernel.values.ids import IdMint
from postroom.message.channel import Channel
from postroom.sandbox.accounts import SandboxAddress
from postroom.sandbox.records import ReceivedMail
from postroom.sandbox.server import Sandbox, serve
from postroom.settings import Settings
from postroom.settings.load import load


@dataclass(frozen=True, slots=True, kw_only=True)
class Workshop:
    settings: Settings
    store: Store
    sandbox: Sandbox
    plane: Plane
    clock: FakeClock
    notes: StoredNotes
    inbox: Inbox
    releaser: Releaser

    async def wish(self, preferences: Preferences, user_id: str = "ada") -> None:
        await self.inbox.change_preferences(user_id, lambda _: preferences)

    async def send(self, message: str = "The dentist is at nine", user_id: str = "ada", **fields: Any) -> Any:
        return await sent(self.inbox, message, user_id, **fields)

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


def inbox_on(database: Database, book: NoticeBook, clock: Clock, **changes: Any) -> Inbox:
    notes = StoredNotes(database)
    plain: dict[str, Any] = {
        "notes": notes,
        "wishes": StoredPreferences(database),
        "confirmations": StoredConfirmations(database, stored_people(database, MINT)),
        "attention": book,
        "feed": Feed(notes, clock),
        "email_due": Signal(),
        "clock": clock,
        "meter": InboxMeter(CollectorRegistry()),
        "mint": MINT.mint,
        "hourly_cap": 100,
        "terms": Terms(email_enabled=True),
    }
    return Inbox(**plain | changes)


@asynccontextmanager
async def workshop(
    home: Path, clock: FakeClock, cap: RedisHourlyCap | None = None, **overrides: Any
) -> AsyncIterator[Workshop]:
    settings, _ = load({}, {"home": str(home), "inbox.email_enabled": True, **overrides})
    mint, registry = IdMint(), CollectorRegistry()
    async with serve() as sandbox, open_store(settings) as store, shared_state(settings, clock) as shared:
        channels = build_channels(settings, SandboxAddress("127.0.0.1", sandbox.bot_api_port, sandbox.smtp_port))
        place = Premises(settings=settings, store=store, clock=clock)
        await keep_in_step(place)
        plane = build_plane(place, channels, shared, registry)
        await plane.dispatcher.start()
        inbox = inbox_on(
            store.database,
            build_attention(place).book,
            clock,
            meter=InboxMeter(registry),
            hourly_cap=settings.inbox.hourly_cap,
            terms=Terms(email_enabled=settings.email_copies_on),
            quick_cap=cap,
        )
        async with _closing(channels), dispatching(plane, CountedLoops(clock)):
            yield Workshop(
                settings=settings,
                store=store,
                sandbox=sandbox,
                plane=plane,
                clock=clock,
                notes=inbox.notes,
                inbox=inbox,
                releaser=Releaser(
                    emails=StoredEmails(store.database),
                    plane=plane,
                    terms=inbox.terms,
                    digest=settings.inbox.digest,
                    lease_seconds=settings.inbox.lease_seconds,
                    sweep_seconds=settings.inbox.sweep_seconds,
                    clock=clock,
                    meter=inbox.meter,
                    mint=mint.mint,
                    wake=inbox.email_due,
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
