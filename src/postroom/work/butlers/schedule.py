"""When a schedule is due next."""

from __future__ import annotations

from zoneinfo import ZoneInfo

from postroom.domain.time import to_datetime, to_us
from postroom.system.roster.config import Schedule


def next_run_us(schedule: Schedule, after_us: int) -> int:
    """The first moment later than `after_us`, by the clock on the wall in the schedule's own zone."""
    from croniter import croniter  # few households have schedules

    local = to_datetime(after_us).astimezone(ZoneInfo(schedule.timezone))
    upcoming = croniter(schedule.cron, local).get_next(type(local))
    return to_us(upcoming)
