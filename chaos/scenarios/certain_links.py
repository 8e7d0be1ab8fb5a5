"""Calls whose answer never comes, on channels that can be asked or that drop copies: one copy, and no mark."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from chaos.certain_rig import certain_rig, doubts_of, reached
from chaos.job import Job
from chaos.ledger_compare import Cause
from chaos.proxy import Proxy
from chaos.rig import Rig
from chaos.routes import CERTAIN
from chaos.scenario import Result, Scenario, World, expectations
from chaos.scenarios.certain_kills import one_copy
from chaos.scenarios.provider_link import TROUBLES, Trouble

_TIMEOUT_SECONDS: Final = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class _Phase:
    """`fault` spoils only calls that send something, so questions are answered; `trouble` is of the whole line."""

    fault: dict[str, Any] = field(default_factory=dict)
    trouble: Trouble | None = None


_PHASES: Final = {
    "accepts, then cuts": _Phase(fault={"mode": "accept_then_cut"}),
    "takes nothing and never answers": _Phase(fault={"mode": "hang"}),
    "the answer is cut": _Phase(trouble=TROUBLES["cut-answer"]),
    "accepts, and the answer is 502": _Phase(trouble=TROUBLES["lies"]),
    "nothing comes back": _Phase(trouble=TROUBLES["black-hole"]),
}


async def certain_links(world: World, channel: str) -> Result:
    number, seconds = world.sized(40, 4), 3.0 if not world.short else 0.8
    complaints: list[str] = []
    async with certain_rig(world, "sqlite", channel, "link") as rig:
        for name, phase in _PHASES.items():
            code = await _lived_through(rig, channel, phase, number, seconds)
            complaints += expectations((code == 0, f"{name}: the worker ended with {code}\n{rig.last_words()}"))
        comparison = await rig.compare(Cause.PROVIDER)
        complaints += [*one_copy(comparison), *doubts_of(rig)]
    wanted = number * len(_PHASES)
    complaints += expectations((comparison.delivered == wanted, f"not all of {wanted} were delivered in the end"))
    return Result(comparison=comparison, note=f"{len(_PHASES)} troubles", complaints=tuple(complaints))


async def _lived_through(rig: Rig, channel: str, phase: _Phase, number: int, seconds: float) -> int:
    if phase.fault:
        await rig.counts.arm(channel, times=number // 2, **phase.fault)
    async with Proxy(rig.receiver.port if rig.receiver else rig.provider.bot_api_port) as proxy:
        trouble = phase.trouble
        if trouble:
            proxy.request, proxy.answer = trouble.request, trouble.answer
        worker = rig.processes.job(_job(rig, channel, proxy.port, number))
        if trouble:
            await asyncio.sleep(seconds)
            proxy.heal()
            proxy.reset_all()
        return await worker.ended(70.0)


def _job(rig: Rig, channel: str, port: int, number: int) -> Job:
    patient = reached(rig, port).having(retry__max_attempts="60")
    packages = patient.packages(number, channel)
    return patient.job(packages=packages, timeout_seconds=_TIMEOUT_SECONDS, limit_seconds=60.0)


SCENARIOS: Final = [
    Scenario(
        name=f"provider-{channel}",
        what=f"{channel}: it accepts and cuts, hangs, or answers 502; the answer is cut, or nothing comes back",
        run=partial(certain_links, channel=channel),
        in_short=False,
    )
    for channel in CERTAIN
]
