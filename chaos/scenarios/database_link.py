"""The network between us and PostgreSQL misbehaves, then heals."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final
from urllib.parse import urlsplit

from chaos.answered import under_way
from chaos.ledger_compare import Cause
from chaos.proxy import NOTHING, Proxy, Toxic
from chaos.scenario import Result, Scenario, World, expectations, recover

Harm = Callable[[Proxy, float], Awaitable[None]]


async def latency(proxy: Proxy, seconds: float) -> None:
    await _from_now_on(proxy, seconds, answer=Toxic(latency_seconds=0.02))


async def slow(proxy: Proxy, seconds: float) -> None:
    await _from_now_on(proxy, seconds, answer=Toxic(bytes_per_second=60_000, slice_bytes=600))


async def sliced(proxy: Proxy, seconds: float) -> None:
    await _from_now_on(proxy, seconds, request=Toxic(slice_bytes=11), answer=Toxic(slice_bytes=3))


async def cut(proxy: Proxy, seconds: float) -> None:
    """Each connection carries a few statements and dies in the middle of an answer."""
    await _from_now_on(proxy, seconds, answer=Toxic(cut_after_bytes=5_003))


async def reset(proxy: Proxy, seconds: float) -> None:
    for _ in range(int(seconds / 0.2)):
        proxy.reset_all()
        await asyncio.sleep(0.2)


async def down(proxy: Proxy, seconds: float) -> None:
    proxy.refuse = True
    proxy.reset_all()
    await asyncio.sleep(seconds)


async def black_hole(proxy: Proxy, seconds: float) -> None:
    """Packets vanish, as behind a firewall that forgot us; nobody closes a connection."""
    proxy.request = proxy.answer = Toxic(black_hole=True)
    proxy.freeze()
    await asyncio.sleep(seconds)


async def _from_now_on(proxy: Proxy, seconds: float, *, request: Toxic = NOTHING, answer: Toxic = NOTHING) -> None:
    proxy.request, proxy.answer = request, answer
    proxy.reset_all()
    await asyncio.sleep(seconds)


HARMS: Final = {
    "latency": ("answers come late", latency),
    "slow": ("a slow line", slow),
    "sliced": ("a few bytes at a time", sliced),
    "reset": ("all connections reset, again and again", reset),
    "cut": ("connections cut in the middle of an answer", cut),
    "black-hole": ("nothing comes back", black_hole),
    "down": ("connections refused", down),
}


async def troubled(world: World, harm: Harm) -> Result:
    number, seconds = world.sized(300, 60), 3.0 if not world.short else 1.0
    async with world.postgres(harm.__name__) as plain:
        address = urlsplit(plain.database_url)
        assert address.port is not None
        async with Proxy(address.port) as proxy:
            through = address._replace(netloc=f"{address.username}@127.0.0.1:{proxy.port}").geturl()
            rig = plain.having(database_url=through, retry__max_attempts="60")
            job = rig.job(packages=rig.packages(number), at_once=8, pause_seconds=0.05, limit_seconds=90.0)
            worker = rig.processes.job(job)
            await under_way(rig)
            await harm(proxy, seconds)
            proxy.heal()  # for new connections; whoever sits on a dead one must notice it without being told
            code = await worker.ended(100.0)
        await recover(plain)
        comparison = await plain.compare(Cause.STORE)
    return Result(
        comparison=comparison,
        complaints=expectations(
            (code == 0, f"the worker ended with {code}"),
            (comparison.delivered == number, "not everything was delivered after the network had healed"),
        ),
    )


SCENARIOS: Final = [
    Scenario(
        name=f"database-{name}",
        what=f"between us and PostgreSQL: {what}",
        run=partial(troubled, harm=harm),
        in_short=harm is not black_hole,  # a silent line is given up after ten seconds, and that twice
        about_seconds=50.0 if harm is black_hole else 10.0,
    )
    for name, (what, harm) in HARMS.items()
]
