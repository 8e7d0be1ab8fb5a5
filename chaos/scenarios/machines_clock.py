"""One machine's clock is half a minute ahead, then behind; leases, retries and deadlines go by the database's."""

from __future__ import annotations

import asyncio
import time
from typing import Final

from chaos.machines.counted import Counted
from chaos.machines.site import site
from chaos.machines.trial import Trial, slow_provider, trial
from chaos.scenario import About, Result, Scenario, World, expectations

_OFF_SECONDS: Final = 30.0
_DEADLINE_SECONDS: Final = 45
_FAR_SECONDS: Final = 600  # a card may be shown a minute late, and must be there to be pressed
_SLACK_SECONDS: Final = 20.0  # less than the clock is off by, so that a deadline read by it would show
_LEASE: Final = "30"  # as it is unless set
_REFUSALS: Final = 40
_ATTEMPTS: Final = "60"  # more than there are refusals, so that no message and no card is given up


async def wrong_clock(world: World) -> Result:
    asked = world.sized(5, 1)
    ends: dict[str, float] = {}

    async def happening(one: Trial) -> None:
        place = one.place
        wrong, right = place.stands[1], place.stands[2]
        for name, offset in (("ahead", _OFF_SECONDS), ("behind", -_OFF_SECONDS)):
            one.complaints += await place.stop_one(wrong)
            wrong.clock_offset_seconds = offset
            await place.start_one(wrong)
            await place.rig.provider.clear_faults()
            await place.rig.provider.arm("telegram", times=_REFUSALS, status=503)
            await slow_provider(place)
            one.ask(asked, (wrong, right), deadline_seconds=_FAR_SECONDS)
            ends[name] = await _seconds_open(one, f"deadline-{name}")
            await one.goes_on()

    async with site(world, "clock") as place:
        place.rig = place.rig.having(delivery__lease_seconds=_LEASE, retry__max_attempts=_ATTEMPTS)
        await place.start()
        result = await trial(place, happening, more=world.sized(100, 20), note="")
    said = ", ".join(f"{name}: a deadline of {_DEADLINE_SECONDS} s after {ends[name]:.0f} s" for name in ends)
    taken_over = result.comparison.messages.duplicates_marked if isinstance(result.comparison, Counted) else 0
    return Result(
        comparison=result.comparison,
        note=said + result.note,
        complaints=(
            *result.complaints,
            *expectations(
                (taken_over == 0, f"{taken_over} messages arrived twice: calls that were being made were taken over"),
                *(
                    (abs(end - _DEADLINE_SECONDS) <= _SLACK_SECONDS, f"{name}: ended after {end:.0f} s")
                    for name, end in ends.items()
                ),
            ),
        ),
    )


async def _seconds_open(one: Trial, token: str) -> float:
    """How long a question is open that nobody answers."""
    began = time.monotonic()
    async with asyncio.timeout(_DEADLINE_SECONDS + _OFF_SECONDS + _SLACK_SECONDS):
        await one.load.unanswered(token, _DEADLINE_SECONDS)
    return time.monotonic() - began


SCENARIOS: Final = [
    Scenario(
        name="machines-clock",
        what="one machine's clock 30 s ahead, then 30 s behind, with retries and deadlines",
        run=wrong_clock,
        in_short=False,
        about=About.MACHINES,
        about_seconds=200.0,
    )
]
