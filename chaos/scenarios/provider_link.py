"""The network between us and the providers misbehaves, then heals."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import Final

from chaos.ledger_compare import Cause
from chaos.proxy import NOTHING, Proxy, Toxic
from chaos.rig import Rig
from chaos.scenario import Result, Scenario, World, expectations


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    what: str
    request: Toxic = NOTHING
    answer: Toxic = NOTHING
    refuse: bool = False
    mail: bool = True  # SMTP's own codes leave no such doubt


_BAD_GATEWAY: Final = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"

TROUBLES: Final = {
    "latency": Trouble(what="answers come late", answer=Toxic(latency_seconds=0.3)),
    "slow": Trouble(what="a slow line", request=Toxic(bytes_per_second=2_000, slice_bytes=200)),
    "sliced": Trouble(what="one byte at a time", request=Toxic(slice_bytes=1), answer=Toxic(slice_bytes=1)),
    "reset": Trouble(what="connections are reset at once", refuse=True),
    "cut-request": Trouble(what="the request is cut after 150 bytes", request=Toxic(cut_after_bytes=150)),
    "cut-answer": Trouble(what="the answer is cut after 140 bytes", answer=Toxic(cut_after_bytes=140)),
    "lies": Trouble(what="it accepts, and the answer is 502", answer=Toxic(instead=_BAD_GATEWAY), mail=False),
    "black-hole": Trouble(what="nothing comes back", answer=Toxic(black_hole=True)),
}


async def troubled(world: World, trouble: Trouble) -> Result:
    number, seconds = world.sized(200, 20), 3.0 if not world.short else 1.0
    async with world.sqlite(trouble.what) as plain:
        provider = plain.provider
        async with Proxy(provider.bot_api_port) as bot_api, Proxy(provider.smtp_port) as smtp:
            for proxy in (bot_api, smtp) if trouble.mail else (bot_api,):
                proxy.request, proxy.answer, proxy.refuse = trouble.request, trouble.answer, trouble.refuse
            rig = _patient(plain, bot_api, smtp)
            packages = rig.packages(number // 2) + rig.packages(number // 2, "email")
            worker = rig.processes.job(rig.job(packages=packages, limit_seconds=60.0))
            await asyncio.sleep(seconds)
            for proxy in (bot_api, smtp):
                proxy.heal()
                proxy.reset_all()
            code = await worker.ended(70.0)
            comparison = await plain.compare(Cause.PROVIDER)
    return Result(
        comparison=comparison,
        complaints=expectations(
            (code == 0, f"the worker ended with {code}"),
            (comparison.delivered == number, "not everything was delivered after the network had healed"),
        ),
    )


def _patient(rig: Rig, bot_api: Proxy, smtp: Proxy) -> Rig:
    return rig.having(
        ports__sandbox=str(bot_api.port),
        ports__sandbox_smtp=str(smtp.port),
        timeouts__telegram_seconds="0.6",
        timeouts__email_seconds="0.6",
        retry__max_attempts="60",
    )


SCENARIOS: Final = [
    Scenario(
        name=f"provider-{name}",
        what=f"between us and the provider: {trouble.what}",
        run=partial(troubled, trouble=trouble),
    )
    for name, trouble in TROUBLES.items()
]
