"""A rig for a channel on which a second copy can be ruled out; webhooks go to a receiver of our own."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from tests.fakes.accounts import channels_at

from chaos.receiver import SECRET, Receiver
from chaos.rig import Rig
from chaos.scenario import World


@asynccontextmanager
async def certain_rig(world: World, database: str, channel: str, name: str) -> AsyncIterator[Rig]:
    open_rig = world.sqlite if database == "sqlite" else world.postgres
    async with open_rig(f"{name} {channel}") as rig:
        if channel != "webhook":
            yield reached(rig, rig.provider.bot_api_port)
            return
        async with Receiver() as receiver:
            yield reached(replace(rig, receiver=receiver), receiver.port)


def reached(rig: Rig, port: int) -> Rig:
    """The same rig with its provider behind this port."""
    url = f"http://127.0.0.1:{port}"
    hook = {"kind": "webhook", "url": f"{url}/hook", "secret": SECRET, "allow_private": True}
    channels = channels_at(url) if rig.receiver is None else {"webhook": hook}
    return rig.having(sandbox="false", approvals__enabled="false", channels=json.dumps(channels))


def doubts_of(rig: Rig) -> tuple[str, ...]:
    """What a receiver of ours has to complain about."""
    receiver = rig.receiver
    if receiver is None:
        return ()
    found = {"badly signed": receiver.forged, "with other words under the same id": receiver.changed}
    return tuple(f"{number} messages came {how}" for how, number in found.items() if number)
