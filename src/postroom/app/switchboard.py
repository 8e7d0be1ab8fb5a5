"""Put the switchboard together."""

from __future__ import annotations

from contextlib import AsyncExitStack

from postroom.app.butlers import ButlerWorld
from postroom.app.known_channels import known_channels
from postroom.doors.switchboard.correction import CorrectionRelay
from postroom.doors.switchboard.deliver import Deliver
from postroom.doors.switchboard.route import Router
from postroom.doors.switchboard.server import Switchboard
from postroom.doors.switchboard.status import StatusRelay
from postroom.system.roster.config import MESSENGER
from postroom.system.telemetry.hop_meter import HopMeter
from postroom.world.store.butlers.registry import StoredRegistry
from postroom.world.store.butlers.registry_cache import CachedRegistry
from postroom.world.store.deliveries.hop_log import StoredNotificationsLog


def build_board(world: ButlerWorld, stack: AsyncExitStack, meter: HopMeter) -> Switchboard:
    log = StoredNotificationsLog(world.database, world.mint.mint, meter.lost)
    stack.push_async_callback(log.flush)
    if world.peers.takes_here(MESSENGER):
        log.go_along()
    registry = CachedRegistry(StoredRegistry(world.database, world.mint.mint), world.clock)
    messenger = world.peers.to("messenger", caller="switchboard")
    return Switchboard(
        deliver=Deliver(
            messenger=world.peers.outbound("messenger", caller="switchboard"),
            registry=registry,
            log=log,
            clock=world.clock,
            mint=world.mint.mint,
            channels=known_channels(world.settings),
        ),
        status=StatusRelay(messenger=messenger, registry=registry, clock=world.clock, mint=world.mint.mint),
        correction=CorrectionRelay(messenger=messenger, registry=registry, clock=world.clock, mint=world.mint.mint),
        router=Router(
            registry=registry,
            peer_of=world.peers.registered,
            clock=world.clock,
            mint=world.mint.mint,
            lost=meter.lost,
        ),
        registry=registry,
        endpoint_of=world.endpoints.url,
        clock=world.clock,
    )
