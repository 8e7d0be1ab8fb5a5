"""Every scenario, in the order in which they run and stand in the docs."""

from __future__ import annotations

from typing import Final

from chaos.scenario import Scenario
from chaos.scenarios import (
    attention_kills,
    certain_kills,
    certain_links,
    clock_jumps,
    content_kills,
    database_link,
    database_restart,
    disk_full,
    hang_ups,
    kill_steps,
    machines_apart,
    machines_clock,
    machines_upgrade,
    poison,
    provider_link,
    provider_trouble,
    question_gap,
    question_kills,
    question_race,
    random_kills,
    redis_faults,
    signals,
    talk_kills,
)

SCENARIOS: Final[list[Scenario]] = [
    *kill_steps.SCENARIOS,
    *certain_kills.SCENARIOS,
    *random_kills.SCENARIOS,
    *database_restart.SCENARIOS,
    *redis_faults.SCENARIOS,
    *provider_link.SCENARIOS,
    *certain_links.SCENARIOS,
    *database_link.SCENARIOS,
    *provider_trouble.SCENARIOS,
    *poison.SCENARIOS,
    *disk_full.SCENARIOS,
    *clock_jumps.SCENARIOS,
    *signals.SCENARIOS,
    *hang_ups.SCENARIOS,
    *question_kills.SCENARIOS,
    *question_gap.SCENARIOS,
    *question_race.SCENARIOS,
    *attention_kills.SCENARIOS,
    *talk_kills.SCENARIOS,
    *content_kills.SCENARIOS,
    *machines_apart.SCENARIOS,
    *machines_upgrade.SCENARIOS,
    *machines_clock.SCENARIOS,
]
