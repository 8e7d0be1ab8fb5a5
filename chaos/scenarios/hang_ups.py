"""Callers of `notify` who hang up at any moment."""

from __future__ import annotations

import asyncio
from typing import Final

import aiohttp

from chaos.household import Household, call_notify
from chaos.journal import Journal, Step
from chaos.scenario import Result, Scenario, World, expectations, left_alone, stop_orderly

_AT_ONCE: Final = 8
_LONGEST_PATIENCE_SECONDS: Final = 0.25


async def hang_ups(world: World) -> Result:
    number = world.sized(1_000, 60)
    gone = 0
    async with world.sqlite("hang up") as rig:
        household = Household(rig)
        await household.up()
        url, token, journal = household.url("health"), household.token("health"), Journal(rig.journal)
        places = asyncio.Semaphore(_AT_ONCE)

        async def one(session: aiohttp.ClientSession) -> None:
            nonlocal gone
            package = rig.package()
            delivery = package.envelope()["delivery"]
            assert isinstance(delivery, dict)
            arguments = {name: delivery[name] for name in ("channel", "message", "recipient")}
            try:
                async with places, asyncio.timeout(rig.dice.uniform(0.0, _LONGEST_PATIENCE_SECONDS)):
                    answer = await call_notify(session, url, token, arguments)
            except TimeoutError:
                gone += 1
                return
            stored = "delivery_id" in (answer.get("delivery") or {})
            journal.note(Step.ANSWER, package.token, "stored" if stored else "refused")

        async with aiohttp.ClientSession() as session:
            await asyncio.gather(*(one(session) for _ in range(number)))
        ends = await stop_orderly(rig, [household.child])
        await left_alone(rig, rig.job())
        comparison = await rig.compare()
    return Result(
        comparison=comparison,
        note=f"{gone} of {number} callers hung up",
        complaints=(
            *ends,
            *expectations(
                (gone > 0, "nobody hung up"),
                (comparison.held == comparison.failed == 0, "a message suffered from its caller's leaving"),
            ),
        ),
    )


SCENARIOS: Final = [Scenario(name="hang-up", what="callers hang up at any moment", run=hang_ups)]
