"""Put the switchboard together."""

from __future__ import annotations

import structlog

from postroom.app.butlers import ButlerWorld
from postroom.app.known_channels import known_channels
from postroom.doors.switchboard.correction import CorrectionRelay
from postroom.doors.switchboard.deliver import Deliver
from postroom.doors.switchboard.route import Router
from postroom.doors.switchboard.server import Switchboard
from postroom.doors.switchboard.status import StatusRelay
from postroom.world.store.butlers.registry import StoredRegistry
from postroom.world.store.butlers.registry_cache import CachedRegistry
from postroom.world.store.deliveries.refused_calls import StoredRefusedCalls

_log = structlog.get_logger("postroom.switchboard")


def build_board(world: ButlerWorld) -> Switchboard:
    registry = CachedRegistry(StoredRegistry(world.database), world.clock)
    messenger = world.peers.to("messenger", caller="switchboard")
    return Switchboard(
        deliver=Deliver(
            messenger=world.peers.outbound("messenger", caller="switchboard"),
            registry=registry,
            refusals=StoredRefusedCalls(world.database, world.mint.mint),
            clock=world.clock,
            mint=world.mint.mint,
            channels=known_channels(world.settings),
            lost=_lost,
        ),
        status=StatusRelay(messenger=messenger, registry=registry, clock=world.clock, mint=world.mint.mint),
        correction=CorrectionRelay(messenger=messenger, registry=registry, clock=world.clock, mint=world.mint.mint),
        router=Router(
            registry=registry,
            peer_of=world.peers.registered,
            clock=world.clock,
            mint=world.mint.mint,
            lost=_lost,
        ),
        registry=registry,
        endpoint_of=world.endpoints.url,
        clock=world.clock,
    )


def _lost(error: BaseException) -> None:
    """Its kind and its place alone: the error may repeat what the row was to say."""
    _log.warning("switchboard.note_lost", exc_info=error)
