"""Scenarios run side by side, and what they say is put together again in order."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

import pytest
from chaos.entry import Entry
from chaos.lane_process import Ticket, run, told
from chaos.lanes import MOST_AT_ONCE, LaneProcesses, Lanes
from chaos.ledger_compare import Comparison
from chaos.scenario import About, NotPermitted, Result, Scenario, World


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


class Watched:
    """Runs nothing: each scenario ends when all that can be under way are."""

    def __init__(self, lanes: int) -> None:
        self.begun: list[str] = []
        self.under_way: list[Scenario] = []
        self.most_machines = 0
        self.most = 0
        self._lanes = lanes

    async def run(self, one: Scenario) -> Entry:
        self.begun.append(one.name)
        self.under_way.append(one)
        self.most = max(self.most, len(self.under_way))
        machines = sum(other.about is About.MACHINES for other in self.under_way)
        self.most_machines = max(self.most_machines, machines)
        for _ in range(5):
            await asyncio.sleep(0)
        self.under_way.remove(one)
        return Entry(scenario=one, result=await nothing(None), seconds=0.0)  # type: ignore[arg-type]


async def test_the_longest_is_begun_first_and_the_entries_come_in_the_order_given() -> None:
    watched, heard = Watched(1), list[str]()
    given = [scenario("short", 1), scenario("long", 9), scenario("middle", 5)]

    entries = await Lanes(1, watched.run, lambda one: heard.append(one.scenario.name)).all(given)

    assert watched.begun == heard == ["long", "middle", "short"]
    assert [one.scenario.name for one in entries] == ["short", "long", "middle"]


async def test_as_many_run_at_once_as_there_are_lanes_and_of_machines_fewer() -> None:
    watched = Watched(4)
    machines = [scenario(f"machines-{number}", 9, about=About.MACHINES) for number in range(5)]
    others = [scenario(f"other-{number}") for number in range(9)]

    entries = await Lanes(4, watched.run, lambda _: None).all([*others, *machines])

    assert len(entries) == 14
    assert watched.most == 4
    assert watched.most_machines == MOST_AT_ONCE[About.MACHINES]


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
