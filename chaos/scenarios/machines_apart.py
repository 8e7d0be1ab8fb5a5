"""One of several machines is separated from the others, or from PostgreSQL and Redis, for longer than a lease."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final

from chaos.machines.network import Machine, Network
from chaos.machines.site import Stand, site
from chaos.machines.trial import Trial, trial
from chaos.scenario import About, Result, Scenario, World

_SECONDS: Final = 20.0  # a call of 2 s is covered by a lease of 17
_SHORT_SECONDS: Final = 3.0  # what was only claimed is covered for 2 s

Harm = Callable[[Network, Machine], None]


async def apart(world: World, harm: Harm, *, pooled: bool = False) -> Result:
    """First a worker, then the door; questions are pressed there and elsewhere, meanwhile and afterwards."""
    seconds = _SHORT_SECONDS if world.short else _SECONDS
    asked = world.sized(5, 1)
    number = world.sized(3, 2)

    async def happening(one: Trial) -> None:
        stands, net = one.place.stands, one.place.network
        for victim, other in _turns(stands, short=world.short):
            one.ask(asked, (victim, other))
            await asyncio.sleep(0.2)
            harm(net, victim.machine)
            one.ask(asked, (victim, other))
            await asyncio.sleep(seconds)
            net.heal(victim.machine)
            await one.goes_on()

    async with site(world, harm.__name__, machines=number, pooled=pooled) as place:
        await place.start()
        times = len(_turns(place.stands, short=world.short))
        note = f"{number} machines, {times} times {seconds:.0f} s"
        return await trial(place, happening, more=world.sized(100, 20), note=note)


def _turns(stands: list[Stand], *, short: bool) -> list[tuple[Stand, Stand]]:
    if short:
        return [(stands[1], stands[0])]
    return [(stands[1], stands[2]), (stands[0], stands[1])]


_HARMS: Final = {
    "partition": ("a machine loses PostgreSQL and Redis, and is back", Network.part),
    "cut-off": ("a machine loses everything, and is back", Network.cut_off),
    "one-way": ("what PostgreSQL and Redis answer to a machine is lost, and no longer", Network.deafen),
}

SCENARIOS: Final = [
    *(
        Scenario(
            name=f"machines-{name}",
            what=what,
            run=partial(apart, harm=harm),
            in_short=harm is Network.part,
            about=About.MACHINES,
        )
        for name, (what, harm) in _HARMS.items()
    ),
    Scenario(
        name="machines-pgbouncer",
        what="a machine loses PgBouncer, PostgreSQL and Redis, and is back; all through PgBouncer",
        run=partial(apart, harm=Network.part, pooled=True),
        in_short=False,
        about=About.MACHINES,
    ),
]
