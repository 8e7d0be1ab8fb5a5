"""Put the switchboard together."""

from __future__ import annotations

from contextlib import AsyncExitStack

from postroom.app.butlers import ButlerWorld
from postroom.app.channels import known_channels
from postroom.store.notifications_log import StoredNotificationsLog
from postroom.store.registry import StoredRegistry
from postroom.store.registry_cache import CachedRegistry
from postroom.switchboard.deliver import Deliver
from postroom.switchboard.route import Router
from postroom.switchboard.server import Switchboard


def build_board(world: ButlerWorld, stack: AsyncExitStack) -> Switchboard:
    log = StoredNotificationsLog(world.database, world.mint.mint)
    stack.push_async_callback(log.flush)
    registry = CachedRegistry(StoredRegistry(world.database, world.mint.mint), world.clock)
    return Switchboard(
        deliver=Deliver(
            messenger=world.peers.to("messenger", caller="switchboard"),
            registry=registry,
            log=log,
            clock=world.clock,
            mint=world.mint.mint,
            channels=known_channels(world.settings),
        ),
        router=Router(registry=registry, peer_of=world.peers.registered, clock=world.clock, mint=world.mint.mint),
        registry=registry,
        endpoint_of=world.endpoints.url,
        clock=world.clock,
    )
