"""kill -9 at every step, on channels that can be asked or that drop copies: one copy, and no mark."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Final

from chaos.certain_rig import certain_rig, doubts_of
from chaos.crash_points import Point
from chaos.ledger_compare import Cause, Comparison
from chaos.rig import Rig
from chaos.routes import CERTAIN, ROUTES
from chaos.scenario import Result, Scenario, World, expectations
from chaos.scenarios.kill_steps import NOT_STORED, ONCE, Fate, Murders, fate_of, points

_ENOUGH_SECONDS: Final = 120.0  # of rounds, on a machine that is too slow for all of them
_STEP_SECONDS: Final = 45.0  # a lease has run out, and two of them are less than Discord remembers a nonce
_POLICIES: Final = ("resend", "hold")  # in turn: nothing is left for them to decide
_FOUND_OUT: Final = Fate(1, "delivered", False, 1)

_EXPECTED: Final[dict[Point, Fate]] = {
    Point.BEFORE_INSERT: NOT_STORED,
    Point.AFTER_INSERT: _FOUND_OUT,
    Point.BEFORE_CLAIM: ONCE,
    Point.AFTER_CLAIM: ONCE,
    Point.BEFORE_MARK: ONCE,
    Point.AFTER_MARK: _FOUND_OUT,
    Point.BEFORE_SEND: _FOUND_OUT,
    Point.DURING_SEND: _FOUND_OUT,
    Point.AFTER_SEND: _FOUND_OUT,
    Point.BEFORE_ADVANCE: _FOUND_OUT,
    Point.AFTER_ADVANCE: _FOUND_OUT,
    Point.BEFORE_SETTLE: _FOUND_OUT,
    Point.AFTER_SETTLE: ONCE,
    Point.BEFORE_RECLAIM: _FOUND_OUT,
    Point.AFTER_RECLAIM: _FOUND_OUT,
}
_ASKING: Final[dict[Point, Fate]] = {Point.BEFORE_ASK: _FOUND_OUT, Point.AFTER_ASK: _FOUND_OUT}
_AGAIN: Final[dict[Point, Fate]] = {Point.AFTER_SECOND_SEND: Fate(1, "delivered", False, 2)}
_SHORT: Final = frozenset({Point.DURING_SEND, Point.BEFORE_ADVANCE, Point.AFTER_ASK, Point.AFTER_SECOND_SEND})


def expected(channel: str) -> dict[Point, Fate]:
    route = ROUTES[channel]
    fates = _EXPECTED | (_ASKING if route.asks else {}) | (_AGAIN if route.drops else {})
    return {point: fates[point] for point in points(channel, fates)}


async def certain_kills(world: World, database: str, channel: str) -> Result:
    most_rounds, enough = world.sized(len(_POLICIES), 1), time.monotonic() + _ENOUGH_SECONDS
    complaints: list[str] = []
    async with certain_rig(world, database, channel, "kill") as rig:
        murders = Murders(rig, channel, _POLICIES[0], _STEP_SECONDS)
        fates = {point: fate for point, fate in expected(channel).items() if not world.short or point in _SHORT}
        for number in range(most_rounds):
            if number and time.monotonic() > enough:
                break
            murders.on_uncertain = _POLICIES[number % len(_POLICIES)]
            complaints += await _round(rig, murders, fates)
        comparison = await rig.compare(Cause.PROCESS)
        complaints += [*one_copy(comparison), *doubts_of(rig)]
    return Result(comparison=comparison, note=f"{murders.kills} kills", complaints=tuple(complaints))


def one_copy(comparison: Comparison) -> Sequence[str]:
    """Where a copy can be ruled out, one that is announced is one too many."""
    doubled, held = comparison.duplicates_marked, comparison.held
    return expectations(
        (doubled == 0, f"{doubled} messages came twice"),
        (held == 0, f"{held} messages were left for a person to decide"),
    )


async def _round(rig: Rig, murders: Murders, fates: dict[Point, Fate]) -> list[str]:
    found = {point: await fate_of(rig, await murders.at(point)) for point in fates}
    return [f"killed {point} ({murders.on_uncertain}): {fate}" for point, fate in found.items() if fate != fates[point]]


def _scenario(database: str, channel: str) -> Scenario:
    return Scenario(
        name=f"kill-{database}-{channel}",
        what=f"kill -9 at each of {len(expected(channel))} steps: {channel}, {database}",
        run=partial(certain_kills, database=database, channel=channel),
        in_short=(database, channel) == ("sqlite", "slack"),
        about_seconds=30.0,
    )


SCENARIOS: Final = [_scenario(database, channel) for database in ("sqlite", "postgres") for channel in CERTAIN]
