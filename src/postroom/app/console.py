"""Put the console together: its pages, what they read, and how they act."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from starlette.applications import Starlette

from postroom.app.channels import KNOWN_CHANNELS
from postroom.app.inbox import Inbox
from postroom.app.peers import Nobody
from postroom.app.policy import delivery_policy
from postroom.channels.mailbox import mailbox
from postroom.console.approvals_page import ApprovalPages
from postroom.console.application import ConsoleParts, console_app
from postroom.console.changes import Changes
from postroom.console.events import events_page
from postroom.console.inbox_page import InboxPages, inbox_section
from postroom.console.inbox_preferences_page import PreferencePages, preference_pages
from postroom.console.rules_page import RulePages, approvals_section
from postroom.console.today import today_section
from postroom.console.visit import Section
from postroom.domain.breaker import BreakerPolicy, Circuit, as_of
from postroom.domain.enquiry import DeliveryQuery, Page
from postroom.domain.errors import TargetUnavailable
from postroom.domain.figures import Depth
from postroom.domain.overview import Tally, Trouble
from postroom.domain.principal import Principal
from postroom.guard.tokens import TokenFile
from postroom.inbox.owner import inbox_of
from postroom.inbox.ports import Notes
from postroom.peers.http import HttpPeer
from postroom.peers.memory import MemoryPeer
from postroom.ports import Clock
from postroom.settings import Settings
from postroom.store.circuits import StoredCircuits
from postroom.store.console_sessions import StoredConsoleSessions
from postroom.store.database import Database
from postroom.store.deliveries_search import StoredDeliveries
from postroom.store.inbox_shelves import StoredShelves
from postroom.store.overview import StoredOverview
from postroom.store.statistics import StoredFigures

_OVERLAP_US = 10_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleWorld:
    """What the pages are made from."""

    settings: Settings
    database: Database
    inbox: Inbox
    tokens: TokenFile
    clock: Clock
    messenger: MemoryPeer | HttpPeer | Nobody


@dataclass(frozen=True, slots=True, kw_only=True)
class Console:
    app: Starlette
    changes: Changes


@asynccontextmanager
async def running_console(world: ConsoleWorld) -> AsyncIterator[Console]:
    changes = Changes(HouseholdPulse(StoredOverview(world.database), world.inbox.notes), world.clock)
    parts = ConsoleParts(
        sections=sections(world),
        more_pages=[events_page(changes, world.clock)],
        sessions=StoredConsoleSessions(world.database),
        clock=world.clock,
    )
    looking = asyncio.create_task(changes.run())
    try:
        yield Console(app=console_app(parts), changes=changes)
    finally:
        changes.stop()
        await looking


def sections(world: ConsoleWorld) -> Sequence[Section]:
    """In the order of the navigation."""
    waiting = HouseholdWaiting(world)
    return [
        today_section(HouseholdOverview(world), waiting),
        inbox_of_household(world),
        approvals_of_household(world),
    ]


def approvals_of_household(world: ConsoleWorld) -> Section:
    tools, is_on = MessengerTools(world.messenger, world.tokens), world.settings.approvals_on
    rules = RulePages(tools=tools, is_on=is_on, channels=sorted(KNOWN_CHANNELS))
    return approvals_section(ApprovalPages(tools=tools, is_on=is_on), rules)


def inbox_of_household(world: ConsoleWorld) -> Section:
    inbox = world.inbox
    pages = InboxPages(
        shelves=StoredShelves(world.database), notes=inbox.notes, preferences=inbox.preferences, ring=inbox.feed.ring
    )
    return inbox_section(pages, preference_pages(PreferencePages(book=inbox.preferences, address=mailbox)))


async def sign_in_link(database: Database, base_url: str, principal: Principal, now_us: int) -> str:
    secret = await StoredConsoleSessions(database).invite(principal, now_us)
    return f"{base_url}/console/login?key={secret}"


class MessengerTools:
    """The messenger's tools with the token of the person who is signed in, whichever process it lives in."""

    def __init__(self, peer: MemoryPeer | HttpPeer | Nobody, tokens: TokenFile) -> None:
        self._peer = peer
        self._tokens = tokens

    async def call(
        self, caller: Principal, tool: str, arguments: Mapping[str, Any], timeout_seconds: float = 30.0
    ) -> dict[str, Any]:
        token = self._tokens.token_of(caller)
        if token is None:
            raise TargetUnavailable(f"{caller} has no token any more")
        return await self._peer.call(tool, arguments, timeout_seconds, token=token)


class HouseholdOverview:
    """The first page, read from the ledger and from nothing else."""

    def __init__(self, world: ConsoleWorld) -> None:
        self._record = StoredOverview(world.database)
        self._circuits = StoredCircuits(world.database)
        self._figures = StoredFigures(world.database)
        self._deliveries = StoredDeliveries(world.database)
        self._breaker: BreakerPolicy = delivery_policy(world.settings).breaker

    async def tallies(self, since_us: int) -> Sequence[Tally]:
        return await self._record.tallies(sorted(KNOWN_CHANNELS), since_us)

    async def trouble(self) -> Trouble:
        return await self._record.trouble()

    async def circuits(self, now_us: int) -> Mapping[str, Circuit]:
        known = await self._circuits.load()
        return {name: as_of(circuit, self._breaker, now_us) for name, circuit in known.items()}

    async def depth(self) -> Depth:
        return await self._figures.depth(None)

    async def latest(self, limit: int) -> Sequence[Mapping[str, Any]]:
        return (await self._deliveries.search(DeliveryQuery(page=Page(limit=limit))))[:limit]


class HouseholdWaiting:
    def __init__(self, world: ConsoleWorld) -> None:
        self._record = StoredOverview(world.database)
        self._notes: Notes = world.inbox.notes
        self._approvals_on = world.settings.approvals_on

    async def approvals(self, now_us: int) -> int | None:
        return await self._record.awaiting_approval(now_us) if self._approvals_on else None

    async def unread(self, who: Principal, now_us: int) -> int:
        user_id = inbox_of(who)
        return 0 if user_id is None else await self._notes.unread(user_id, now_us)


class HouseholdPulse:
    def __init__(self, record: StoredOverview, notes: Notes) -> None:
        self._record = record
        self._notes = notes

    async def look(self, user_ids: Collection[str], now_us: int) -> Mapping[str, tuple[Any, ...]]:
        inboxes = await self._notes.pulses(user_ids, now_us - _OVERLAP_US, now_us)
        quiet: dict[str, tuple[Any, ...]] = {f"inbox:{user_id}": () for user_id in user_ids}
        return await self._record.pulse() | quiet | {f"inbox:{name}": pulse for name, pulse in inboxes.items()}
