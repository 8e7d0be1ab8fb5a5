"""The household's people, put together from its settings and its database."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from postroom.app.address_forms import address_forms
from postroom.app.attention import wishes_mark
from postroom.app.known_channels import usable_channels
from postroom.app.people_seeds import keep_in_step, seeds
from postroom.app.store import OpenedStore, connect_store, open_store
from postroom.domain.agent_address import HOUSEHOLD_OWNER
from postroom.domain.clock import Clock
from postroom.domain.closed_address import ClosedAddress
from postroom.domain.inbound_trouble import InboundTrouble
from postroom.domain.person import Overruled
from postroom.domain.principal import OWNER
from postroom.system.clock import SystemClock
from postroom.system.settings import Settings
from postroom.work.conversations.history import Histories
from postroom.work.people.normalise import keys_of
from postroom.work.people.people import People
from postroom.world.store.conversations.history import StoredPersonHistory
from postroom.world.store.conversations.troubles import StoredTroubles
from postroom.world.store.engine.migrate import newest, revision
from postroom.world.store.engine.sole_worker import sqlite_path
from postroom.world.store.people.closed_addresses import StoredClosedAddresses
from postroom.world.store.people.people_search import StoredPeopleSearch


def household_people(settings: Settings, store: OpenedStore, clock: Clock) -> People:
    return People(
        store=store.people,
        search=StoredPeopleSearch(store.database, keys_of),
        history=Histories(store=StoredPersonHistory(store.database)),
        forms=address_forms(settings),
        clock=clock,
        moved=wishes_mark(settings).touch,
    )


@asynccontextmanager
async def opened_people(settings: Settings) -> AsyncIterator[People]:
    """Without a running household, on the same database."""
    clock = SystemClock()
    async with opened_store_of_people(settings, clock) as store:
        yield household_people(settings, store, clock)


@asynccontextmanager
async def opened_store_of_people(settings: Settings, clock: Clock) -> AsyncIterator[OpenedStore]:
    """One that no household has worked on yet gets its owner."""
    async with open_store(settings) as store:
        if await store.people.get(HOUSEHOLD_OWNER, OWNER) is None:
            await keep_in_step(settings, store.people, clock.now_us())
        yield store


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleFindings:
    """What is worth knowing of the people, for `postroom doctor`."""

    overruled: Sequence[Overruled]
    unreachable: Sequence[tuple[str, str]]  # a name, and a channel that is not set up
    unproved: Sequence[str]  # names of those who have proved no address
    owner_on: Sequence[str]  # the channels of the owner's addresses
    closed: Sequence[ClosedAddress] = ()  # mail came back from them
    deaf: Sequence[InboundTrouble] = ()  # channels that hear nothing just now


async def look_through_people(settings: Settings, most: int) -> PeopleFindings | None:
    """Leaves no trace: a file that is not there yet is not made; None when there is nothing to look through."""
    if settings.database.startswith("sqlite") and not sqlite_path(settings).exists():
        return None
    store = connect_store(settings)
    try:
        if await store.database.read(revision) != newest():
            return None
        search = StoredPeopleSearch(store.database, keys_of)
        return PeopleFindings(
            overruled=await store.people.overruled(HOUSEHOLD_OWNER, seeds(settings)),
            unreachable=await search.unreachable(HOUSEHOLD_OWNER, usable_channels(settings), most),
            unproved=await search.unproved(HOUSEHOLD_OWNER, most),
            owner_on=[
                place.channel for one in await store.people.find(HOUSEHOLD_OWNER, OWNER) for place in one.addresses
            ],
            closed=await StoredClosedAddresses(store.database).newest(most),
            deaf=await StoredTroubles(store.database).listed(),
        )
    finally:
        await store.database.close()
