"""Every scenario, in the order in which they run and stand in the docs."""

from __future__ import annotations

from typing import Final

from chaos.scenario import Scenario
from chaos.scenarios import database_link, database_restart, kill_steps, provider_link, random_kills, redis_faults

SCENARIOS: Final[list[Scenario]] = [
    *kill_steps.SCENARIOS,
    *random_kills.SCENARIOS,
    *database_restart.SCENARIOS,
    *redis_faults.SCENARIOS,
    *provider_link.SCENARIOS,
    *database_link.SCENARIOS,
]
