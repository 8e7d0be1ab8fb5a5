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
from tests.timekeeping import Rounds, rounds

from postroom.attention.keeper import Amends, Carrier, Keeper
from postroom.attention.state import Standing
from postroom.attention.store import MOMENTS, notices
from postroom.attention.turn import NoticeBook
from postroom.delivery.accept import Plane
from postroom.delivery.afterwards.corrections import Corrections
from postroom.delivery.store.tables import delivery_requests
from postroom.household.attention import build_attention
from postroom.household.channels import build_channels
from postroom.household.delivery import build_plane, dispatching, shared_state
from postroom.household.people import keep_in_step
from postroom.household.store import Premises, Store, open_store, stored_people
from postroom.inbox.inbox import Feed, Inbox, InboxMeter
from postroom.inbox.model import Preferences, Terms
from postroom.inbox.store.hourly_cap_redis import RedisHourlyCap
from postroom.inbox.store.mail import StoredConfirmations, StoredPreferences
from postroom.inbox.store.notes import StoredNotes
from postroom.kernel.database.engine import Database
from postroom.kernel.database.rows import of_json
from postroom.kernel.running.clock import Clock
from postroom.kernel.running.loop import Signal
from postroom.message.channel import Channel
from postroom.message.delivery import Status
from postroom.sandbox.accounts import SandboxAddress
from postroom.sandbox.records import ReceivedMail
from postroom.sandbox.server import Sandbox, SandboxOptions
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
    keeper: Keeper
    times: Rounds

    async def wish(self, preferences: Preferences, user_id: str = "ada") -> None:
        await self.inbox.change_preferences(user_id, lambda _: preferences)

    async def send(self, message: str = "The dentist is at nine", user_id: str = "ada", **fields: Any) -> Any:
        return await sent(self.inbox, message, user_id, **fields)

    async def release(self) -> None:
        """What is due is handed over, and what became of it is known."""
        for _ in range(3):
            await self.times.look()
            await self.keeper.look()

    async def copies(self) -> list[Standing]:
        """Everybody's, in the order they came."""
        found = select(notices).order_by(notices.c.created_at, notices.c.id)
        return await self.store.database.read(
            lambda connection: [of_json(Standing, row.standing) for row in connection.execute(found)]
        )

    async def deliveries(self) -> list[dict[str, Any]]:
        found = select(delivery_requests).order_by(delivery_requests.c.id)
        return await self.store.database.read(
            lambda connection: [dict(row) for row in connection.execute(found).mappings()]
        )

    async def mails(self, count: int) -> list[ReceivedMail]:
        """What the mail server holds, once it holds that many, and their sending has come to its end."""
        for _ in range(1_000):
            under_way = any(one["status"] == Status.IN_PROGRESS for one in await self.deliveries())
            if len(found := self.received()) >= count and not under_way:
                return found
            await asyncio.sleep(0.01)
        raise AssertionError(f"only {len(found)} of {count} e-mails arrived")

    def received(self) -> list[ReceivedMail]:
        return self.sandbox.ledger.shown(ReceivedMail, from_person=False)


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
    registry = CollectorRegistry()
    async with (
        Sandbox(SandboxOptions()) as sandbox,
        open_store(settings) as store,
        shared_state(settings, clock) as shared,
    ):
        channels = build_channels(settings, SandboxAddress("127.0.0.1", sandbox.bot_api_port, sandbox.smtp_port))
        place = Premises(settings=settings, store=store, clock=clock)
        await keep_in_step(place)
        plane = build_plane(place, channels, shared, registry)
        await plane.dispatcher.start()
        book = build_attention(place).book
        amends = Amends(corrections=Corrections(plane=plane, record=store.corrections))
        carrier = Carrier(book=book, way_out=plane, amends=amends)
        keeper = Keeper(book=book, carrier=carrier, channels_down=plane.channels_down)
        inbox = inbox_on(
            store.database,
            book,
            clock,
            meter=InboxMeter(registry),
            hourly_cap=settings.inbox.hourly_cap,
            terms=Terms(email_enabled=settings.email_copies_on, digest=settings.inbox.digest),
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
                keeper=keeper,
                times=rounds(store.database, clock, MOMENTS, keeper.take, keeper.waits_on),
            )


@asynccontextmanager
async def _closing(channels: Mapping[str, Channel]) -> AsyncIterator[None]:
    try:
        yield
    finally:
        for channel in channels.values():
            await channel.close()
