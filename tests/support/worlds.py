"""What the parts of a household share, for a test that puts one of them together."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack

from prometheus_client import CollectorRegistry
from tests.support.counted import CountedLoops

from postroom.household.peers import Peers
from postroom.household.store import Store, World
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.running.clock import Clock, SystemClock
from postroom.kernel.running.timekeeper import Timekeeper
from postroom.settings import Settings
from postroom.settings.roster import ButlerConfig, Endpoints


def world_of(
    settings: Settings,
    store: Store,
    *,
    clock: Clock | None = None,
    roster: Sequence[ButlerConfig] = (),
    stack: AsyncExitStack | None = None,
) -> World:
    """`stack` closes the ways to other parts, where the test takes any."""
    clock, tokens, endpoints = clock or SystemClock(), TokenFile(settings.tokens_file), Endpoints(settings, roster)
    return World(
        settings=settings,
        store=store,
        clock=clock,
        loops=CountedLoops(clock),
        tokens=tokens,
        registry=CollectorRegistry(),
        peers=Peers(tokens, endpoints, clock, stack or AsyncExitStack()),
        endpoints=endpoints,
        timekeeper=Timekeeper(store.moments, store.marks, clock),
        roster=roster,
    )
