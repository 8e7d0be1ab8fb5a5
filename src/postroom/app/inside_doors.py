"""The parts of one process that take messages from the others without a wire."""

from __future__ import annotations

from postroom.app.parts import SWITCHBOARD
from postroom.doors.guard.guarded_server import GuardedServer
from postroom.doors.guard.inside import InsideDoor
from postroom.doors.messenger.execute import Execute
from postroom.doors.switchboard.deliver import Deliver
from postroom.system.roster.config import MESSENGER
from postroom.world.peers.over_wire import MESSENGER_MARGIN_SECONDS, SWITCHBOARD_MARGIN_SECONDS


def switchboard_door(server: GuardedServer, deliver: Deliver) -> InsideDoor:
    return InsideDoor(
        part=SWITCHBOARD,
        tool="deliver",
        policy=server.policy,
        takes=deliver.submit,
        margin_seconds=SWITCHBOARD_MARGIN_SECONDS,
    )


def messenger_door(server: GuardedServer, execute: Execute) -> InsideDoor:
    return InsideDoor(
        part=MESSENGER,
        tool="route.execute",
        policy=server.policy,
        takes=execute.submit,
        margin_seconds=MESSENGER_MARGIN_SECONDS,
    )
