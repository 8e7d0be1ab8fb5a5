"""Scenarios run side by side, and what they say is put together again in order."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

import pytest
from chaos.lane_process import Ticket, run, told
from chaos.lanes import LaneProcesses, Lanes
from chaos.ledger_compare import Comparison
from chaos.scenario import NotPermitted, Result, Scenario, World


async def nothing(_world: World) -> Result:
    return Result(comparison=Comparison())


async def breaks(_world: World) -> Result:
    raise RuntimeError("the rig fell over")


async def not_here(_world: World) -> Result:
    raise NotPermitted("needs root")


async def never_ends(_world: World) -> Result:
    await asyncio.Event().wait()
    raise AssertionError("never reached")


async def kills_its_lane(_world: World) -> Result:
    os._exit(3)


def scenario(name: str, seconds: float = 1.0, *, what: Callable[..., object] = nothing, **more: object) -> Scenario:
    return Scenario(name=name, what=name, run=what, about_seconds=seconds, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("what", "error", "not_run"),
    [
        (nothing, "", ""),
        (breaks, "RuntimeError('the rig fell over')", ""),
        (not_here, "", "needs root"),
        (never_ends, "TimeoutError()", ""),
    ],
    ids=["well", "broken", "not permitted", "overdue"],
)
def test_a_lane_says_what_came_of_a_scenario(what: Callable[..., object], error: str, not_run: str) -> None:
    one = scenario("one", what=what)

    entry = run(Ticket(scenario=one, postgres_url="", seed=1, short=True, limit_seconds=0.05))

    assert (entry.error.partition(" at ")[0], entry.not_run) == (error, not_run)
    assert entry.passed == (what is nothing)


@pytest.mark.timeout(300)  # two processes begin anew, each with all imports, on a machine that is busy
async def test_a_lane_that_dies_is_replaced_and_the_others_are_heard() -> None:
    processes = LaneProcesses(1, "", seed=1, short=True, limit_seconds=20.0)
    try:
        entries = await Lanes(1, processes.run, lambda _: None).all(
            [scenario("deadly", 2, what=kills_its_lane), scenario("next")]
        )
    finally:
        processes.close()

    assert "its lane died" in entries[0].error
    assert entries[1].passed


def test_the_errors_of_a_group_are_said_one_by_one() -> None:
    inside = ExceptionGroup("inside", [TimeoutError(), ValueError("no card")])

    assert told(ExceptionGroup("outside", [inside, KeyError("m1")])) == [
        "TimeoutError()",
        "ValueError('no card')",
        "KeyError('m1')",
    ]
