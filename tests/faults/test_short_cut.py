"""The short cut of `make chaos`: the same faults with fixed seeds, in every test run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from chaos.catalogue import SCENARIOS
from chaos.processes import Processes
from chaos.scenario import NotPermitted, Scenario, World


@pytest.fixture(scope="session")
def processes() -> Iterator[Processes]:
    processes = Processes()
    yield processes
    processes.close()


@pytest.mark.timeout(240)
@pytest.mark.parametrize("scenario", [one for one in SCENARIOS if one.in_short], ids=lambda one: one.name)
async def test_nothing_is_lost_and_no_duplicate_is_unmarked(
    scenario: Scenario, processes: Processes, postgres_server_url: str
) -> None:
    try:
        result = await scenario.run(World(processes=processes, postgres_url=postgres_server_url, seed=1, short=True))
    except NotPermitted as error:
        pytest.skip(f"this host does not permit it: {error}")

    assert result.said == ()
    assert result.passed


def test_every_scenario_has_a_name_of_its_own() -> None:
    names = [scenario.name for scenario in SCENARIOS]

    assert len(set(names)) == len(names)
