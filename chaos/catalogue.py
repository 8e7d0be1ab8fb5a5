"""Every scenario, in the order in which they stand in the docs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Group:
    """A line of the overview: what was broken, and the scenarios that do it."""

    title: str
    scenarios: Sequence[Scenario]


GROUPS: Final[list[Group]] = [
    Group(
        "messages: `kill -9` at every step, and anywhere",
        [*kill_steps.SCENARIOS, *certain_kills.SCENARIOS, *random_kills.SCENARIOS, *poison.SCENARIOS],
    ),
    Group(
        "messages: PostgreSQL and Redis stopped, killed, emptied, not there",
        [*database_restart.SCENARIOS, *redis_faults.SCENARIOS],
    ),
    Group(
        "messages: the lines to providers and to PostgreSQL cut, slow or silent",
        [*provider_link.SCENARIOS, *certain_links.SCENARIOS, *database_link.SCENARIOS],
    ),
    Group("messages: the provider throttles, or is down", provider_trouble.SCENARIOS),
    Group("messages: the disk is full", disk_full.SCENARIOS),
    Group("messages: the clock jumps", clock_jumps.SCENARIOS),
    Group("messages: SIGTERM, and callers who hang up", [*signals.SCENARIOS, *hang_ups.SCENARIOS]),
    Group(
        "questions: killed at every step, away, and answered everywhere at once",
        [*question_kills.SCENARIOS, *question_gap.SCENARIOS, *question_race.SCENARIOS],
    ),
    Group("attention: killed at every step, and anywhere", attention_kills.SCENARIOS),
    Group("conversations: killed at every step, and anywhere", talk_kills.SCENARIOS),
    Group("files and corrections: killed at every step", content_kills.SCENARIOS),
    Group(
        "several machines: partitioned away and back, upgraded one by one, a clock 30 s off",
        [*machines_apart.SCENARIOS, *machines_upgrade.SCENARIOS, *machines_clock.SCENARIOS],
    ),
]

SCENARIOS: Final[list[Scenario]] = [scenario for group in GROUPS for scenario in group.scenarios]
