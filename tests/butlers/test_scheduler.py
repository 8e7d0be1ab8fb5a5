"""When a schedule is due next."""

from __future__ import annotations

import pytest

from postroom.butlers.scheduler import next_run_us
from postroom.kernel.values.ids import parse_text, to_text
from postroom.settings.roster import Schedule


@pytest.mark.parametrize(
    ("cron", "zone", "after", "due"),
    [
        pytest.param("0 9 * * *", "UTC", "2026-11-15T08:59:59Z", "2026-11-15T09:00:00", id="later-today"),
        pytest.param("0 9 * * *", "UTC", "2026-11-15T09:00:00Z", "2026-11-16T09:00:00", id="never-the-same-moment"),
        pytest.param("30 7 * * 1", "Europe/Berlin", "2026-07-01T00:00:00Z", "2026-07-06T05:30:00", id="summer-time"),
        pytest.param("30 7 * * 1", "Europe/Berlin", "2026-12-01T00:00:00Z", "2026-12-07T06:30:00", id="winter-time"),
        pytest.param("*/15 * * * *", "Asia/Kolkata", "2026-01-01T00:07:00Z", "2026-01-01T00:15:00", id="half-hour"),
        pytest.param("0 0 29 2 *", "UTC", "2026-03-01T00:00:00Z", "2028-02-29T00:00:00", id="leap-day"),
    ],
)
def test_the_wall_clock_of_the_zone_decides(cron: str, zone: str, after: str, due: str) -> None:
    schedule = Schedule(name="a", cron=cron, timezone=zone, prompt="x")

    assert to_text(next_run_us(schedule, parse_text(after))).startswith(due)
