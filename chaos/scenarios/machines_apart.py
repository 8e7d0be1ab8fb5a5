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


async def apart(world: World, harms: tuple[Harm, Harm], *, pooled: bool = False) -> Result:
    """First a worker, then the door; questions are pressed there and elsewhere, meanwhile and afterwards."""
    seconds = _SHORT_SECONDS if world.short else _SECONDS
    asked = world.sized(5, 1)
    number = world.sized(3, 2)

    async def happening(one: Trial) -> None:
        stands, net = one.place.stands, one.place.network
        for harm, (victim, other) in zip(harms, _turns(stands, short=world.short), strict=False):
            one.ask(asked, (victim, other))
            await asyncio.sleep(0.2)
            harm(net, victim.machine)
            one.ask(asked, (victim, other))
            await asyncio.sleep(seconds)
            net.heal(victim.machine)
            await one.goes_on()

    async with site(world, harms[0].__name__, machines=number, pooled=pooled) as place:
        await place.start()
        times = len(_turns(place.stands, short=world.short))
        note = f"{number} machines, {times} times {seconds:.0f} s"
        return await trial(place, happening, more=world.sized(100, 20), note=note)


def _turns(stands: list[Stand], *, short: bool) -> list[tuple[Stand, Stand]]:
    if short:
        return [(stands[1], stands[0])]
    return [(stands[1], stands[2]), (stands[0], stands[1])]


_SERVERS: Final = "PostgreSQL and Redis"
_HARMS: Final[dict[str, tuple[str, tuple[Harm, Harm]]]] = {
    "partition": (f"one machine partitioned away from {_SERVERS}, and back", (Network.part, Network.part)),
    "cut-off": ("one machine partitioned away from everything, and back", (Network.cut_off, Network.cut_off)),
    "one-way": (
        f"one machine partitioned one way, and back: it does not hear {_SERVERS}, then they do not hear it",
        (Network.deafen, Network.mute),
    ),
}


def _scenario(name: str, what: str, *, pooled: bool = False) -> Scenario:
    harms = _HARMS[name][1] if name in _HARMS else (Network.part, Network.part)
    return Scenario(
        name=f"machines-{name}",
        what=what,
        run=partial(apart, harms=harms, pooled=pooled),
        in_short=name == "partition",
        about=About.MACHINES,
        about_seconds=150.0,
    )


SCENARIOS: Final = [
    *(_scenario(name, what) for name, (what, _) in _HARMS.items()),
    _scenario("pgbouncer", "one machine partitioned away from PgBouncer, PostgreSQL and Redis, and back", pooled=True),
]
