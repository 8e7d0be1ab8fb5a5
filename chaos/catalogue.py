"""Every scenario, in the order in which they run and stand in the docs."""

from __future__ import annotations

from typing import Final

from chaos.scenario import Scenario
from chaos.scenarios import kill_steps, random_kills

SCENARIOS: Final[list[Scenario]] = [*kill_steps.SCENARIOS, *random_kills.SCENARIOS]
