"""`postroom up` in a process that can be made to die around what it does about one message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chaos import household_process
from chaos.class_points import watch_deliveries
from chaos.content.points import watch_content
from chaos.crash_points import Crash, CrashPlan
from chaos.offset_clock import OffsetClock
from chaos.talks.points import watch_inbound
from postroom.kernel.running.clock import SharedClock, SystemClock
from postroom.kernel.values.ids import seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class HouseJob:
    environment: Mapping[str, str]
    arguments: Sequence[str]
    log: Path
    crash: CrashPlan | None = None
    clock_offset_seconds: float = 0.0


def main(job: HouseJob) -> None:
    """The target of a forked process."""
    crash = Crash(job.crash)
    offset_us: Final = seconds(job.clock_offset_seconds)
    now_us = OffsetClock().now_us
    setattr(SystemClock, "now_us", lambda _: now_us() + offset_us)  # noqa: B010
    setattr(SharedClock, "follow", lambda *_, **__: 0)  # noqa: B010 - time has passed for the database, too
    watch_deliveries(crash)
    watch_inbound(crash)
    watch_content(crash)
    household_process.main(job.environment, job.arguments, job.log)
