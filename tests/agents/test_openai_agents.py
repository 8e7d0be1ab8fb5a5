"""The driver of the OpenAI Agents SDK where a run pauses more than once, or for more than one call."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from agents.testing import ScriptedModel, assistant_message, function_call
from tests.app.asked_household import press, until
from tests.app.living import QUICK, Living, living
from tests.patience import PATIENCE_SECONDS

from agents import Agent, RunConfig, function_tool
from postroom.agents.asks import HouseholdAsks, Unanswered
from postroom.agents.openai_agents import drive

QUIET = RunConfig(tracing_disabled=True)


class Deployments:
    """An agent whose every call of `deploy` needs a person, and what it did."""

    def __init__(self, house: Living, *steps: Any) -> None:
        self.done: list[str] = []
        self._house = house
        self._steps = list(steps)

    async def drive(self, *done_before: Any, wait_seconds: float | None = None) -> str:
        """By a process that has not seen the first steps of the script, because another did them."""

        @function_tool(needs_approval=True)
        def deploy(version: str) -> str:
            self.done.append(version)
            return "Deployed."

        model = ScriptedModel(self._steps[len(done_before) :])
        asks = HouseholdAsks(
            url=self._house.household.addresses["api"].removesuffix("/mcp"),
            token=self._house.token("health"),
            wait_seconds=wait_seconds,
            more={"channels": ["telegram"]},
        )
        agent = Agent(name="releases", tools=[deploy], model=model)
        return str((await drive(agent, "Deploy", run_id="r", asks=asks, run_config=QUIET)).final_output)


async def cards(house: Living, number: int) -> list[dict[str, Any]]:
    async def look() -> list[dict[str, Any]] | None:
        found = [one for one in await house.received() if "Run deploy?" in one["text"]]
        return found if len(found) == number else None

    return await until(look)


@pytest.mark.requirement("drivers:no-stale-approval")
async def test_the_same_call_later_in_the_run_is_asked_about_again(home: Path) -> None:
    async with living(home, QUICK) as house:
        same = [[function_call("deploy", {"version": "1"}, call_id=one)] for one in ("a", "b")]
        run = Deployments(house, *same, [assistant_message("Both.")])
        first = asyncio.create_task(run.drive())
        await press(house, (await cards(house, 1))[0], "Approve")
        await cards(house, 2)
        first.cancel()
        done_first = list(run.done)
        second = asyncio.create_task(run.drive(*same))
        await press(house, (await cards(house, 2))[1], "Approve")

        assert await asyncio.wait_for(second, PATIENCE_SECONDS) == "Both."
        assert (done_first, run.done) == (["1"], ["1", "1"])


async def test_calls_of_one_turn_are_asked_about_together_and_decided_apart(home: Path) -> None:
    async with living(home, QUICK) as house:
        both = [function_call("deploy", {"version": one}, call_id=one) for one in ("1", "2")]
        run = Deployments(house, both, [assistant_message("One.")])
        running = asyncio.create_task(run.drive())
        for card in await cards(house, 2):
            await press(house, card, "Deny" if '"1"' in card["text"] else "Approve")

        assert await asyncio.wait_for(running, PATIENCE_SECONDS) == "One."
        assert run.done == ["2"]


@pytest.mark.requirement("drivers:silence-is-no-answer")
async def test_a_run_without_an_answer_stays_paused(home: Path) -> None:
    async with living(home, QUICK) as house:
        call = [function_call("deploy", {"version": "1"}, call_id="a")]
        run = Deployments(house, call, [assistant_message("Done.")])
        with pytest.raises(Unanswered):
            await run.drive(wait_seconds=0.1)
        with pytest.raises(Unanswered):
            await run.drive(call, wait_seconds=0.1)

        assert run.done == []
        assert len(house.rows("questions")) == 1
