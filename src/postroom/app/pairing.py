"""Pairing put together: what the doors call, and who hears the codes."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from postroom.app.household_key import household_key
from postroom.app.known_channels import configured_channels, known_channels
from postroom.app.people import household_people, opened_store_of_people
from postroom.app.store import OpenedStore
from postroom.domain.clock import Clock
from postroom.domain.ports import Outbound
from postroom.system.clock import SystemClock
from postroom.system.settings import Settings
from postroom.work.conversations.inbound import Handler, of_messages
from postroom.work.people.here import FirstHere
from postroom.work.people.pairing import Codes, Pairing
from postroom.work.people.pairing_ear import PairingEar
from postroom.world.store.people.pairings import StoredPairings


def build_pairing(
    settings: Settings, store: OpenedStore, clock: Clock, ring: Callable[[], object] = lambda: None
) -> Pairing:
    known = known_channels(settings)
    return Pairing(
        people=household_people(settings, store, clock),
        store=StoredPairings(store.people),
        codes=_codes(settings),
        channels={name: known[name] for name in configured_channels(settings)},
        new_seed=lambda: secrets.token_urlsafe(32),
        ring=ring,
    )


@asynccontextmanager
async def opened_pairing(settings: Settings) -> AsyncIterator[Pairing]:
    """Without a running household, on the same database; a link is sent as soon as one runs."""
    clock = SystemClock()
    async with opened_store_of_people(settings, clock) as store:
        yield build_pairing(settings, store, clock)


def pairing_handlers(settings: Settings, store: OpenedStore, outbound: Outbound, clock: Clock) -> Sequence[Handler]:
    ear = PairingEar(record=StoredPairings(store.people), codes=_codes(settings), outbound=outbound, clock=clock)
    here = FirstHere(people=store.people, outbound=outbound, clock=clock)
    return [of_messages(ear.words), of_messages(here.words)]


def _codes(settings: Settings) -> Codes:
    return Codes(key=household_key(settings.home, "pairing codes"))
