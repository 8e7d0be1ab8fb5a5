"""Situations of the line and of the channel's life, in which the provider's words do not matter."""

from __future__ import annotations

import asyncio
from types import MappingProxyType
from typing import Final

from postroom.domain.delivery import Receipt
from postroom.domain.errors import DeliveryTimeout, OutcomeUncertain, TargetUnavailable
from postroom.testing.attempt import attempt, connected, ensure_discreet, ensure_ended
from postroom.testing.case import Case, Place
from postroom.testing.check import Look, ensure
from postroom.testing.overheard import overhearing
from postroom.testing.playing import told
from postroom.testing.sample import message, numbered
from postroom.testing.servers.fake_server import FakeServer, closed_port
from postroom.testing.situation import Endings

UNKNOWN_HOST: Final = "no-such-host.invalid"
AT_ONCE: Final = 20


async def connection_refused(case: Case) -> None:
    await _unreachable(case, Place(port=closed_port()), TargetUnavailable)


async def unknown_host(case: Case) -> None:
    await _unreachable(case, Place(port=closed_port(), host=UNKNOWN_HOST), (TargetUnavailable, DeliveryTimeout))


async def handshake_cut(case: Case) -> None:
    async with _Cutter() as server:
        await _unreachable(case, Place(port=server.port, tls=True), (TargetUnavailable, DeliveryTimeout))
        ensure(server.connections == 1, f"it was tried {server.connections} times")


async def cancelled(case: Case) -> None:
    async with case.words.provider() as provider:
        provider.behave(*told(case, "read-then-silence").steps)
        async with connected(case, Place(port=provider.port)) as channel:
            sending = asyncio.create_task(attempt(channel, channel.prepare(message(case))[0], 60.0))
            await provider.arrived.wait()
            sending.cancel()
            await asyncio.wait([sending])
    ensure(sending.cancelled(), "the cancellation was swallowed")
    ensure(provider.taken == 1, f"the provider got {provider.taken} messages")


async def close_while_sending(case: Case) -> None:
    with overhearing() as heard:
        async with case.words.provider() as provider:
            provider.behave(*told(case, "held").steps)
            async with connected(case, Place(port=provider.port)) as channel:
                sending = asyncio.create_task(attempt(channel, channel.prepare(message(case))[0], 5.0))
                await provider.arrived.wait()
                closing = asyncio.create_task(channel.close())
                provider.release.set()
                outcome = await sending
                await closing
    ensure_ended(outcome, (None, OutcomeUncertain))
    ensure_discreet(case, outcome, heard)
    ensure(provider.taken == 1, f"the provider got {provider.taken} messages")


async def many_at_once(case: Case) -> None:
    async with case.words.provider() as provider, connected(case, Place(port=provider.port)) as channel:
        parts = [channel.prepare(numbered(case, number))[0] for number in range(AT_ONCE)]
        outcomes = await asyncio.gather(*(attempt(channel, part, 10.0) for part in parts))
    ensure(all(isinstance(one, Receipt) for one in outcomes), "some of them have no receipt")
    ensure(provider.taken == AT_ONCE, f"the provider got {provider.taken} messages")


LIFETIME: Final = MappingProxyType[str, Look](
    {
        "connection-refused": connection_refused,
        "unknown-host": unknown_host,
        "handshake-cut": handshake_cut,
        "cancelled": cancelled,
        "close-while-sending": close_while_sending,
        "many-at-once": many_at_once,
    }
)


class _Cutter(FakeServer):
    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(1)
        self.reset(writer)


async def _unreachable(case: Case, place: Place, allowed: Endings) -> None:
    with overhearing() as heard:
        async with connected(case, place) as channel:
            outcome = await attempt(channel, channel.prepare(message(case))[0], 5.0)
    ensure_ended(outcome, allowed)
    ensure_discreet(case, outcome, heard)
