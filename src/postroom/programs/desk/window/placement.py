"""Where on the screens the window goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MARGIN = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    x: int
    y: int
    width: int
    height: int

    def holds(self, x: int, y: int) -> bool:
        return self.x <= x < self.x + self.width and self.y <= y < self.y + self.height


def monitor_for(monitors: Sequence[Area], pointer: tuple[int, int]) -> Area:
    """The one with the pointer, else the primary one, which comes first."""
    return next((monitor for monitor in monitors if monitor.holds(*pointer)), monitors[0])


def centred(monitor: Area, width: int, height: int) -> Area:
    """In the middle, and never larger than the monitor."""
    width, height = min(width, monitor.width - 2 * MARGIN), min(height, monitor.height - 2 * MARGIN)
    return Area(
        x=monitor.x + (monitor.width - width) // 2,
        y=monitor.y + (monitor.height - height) // 2,
        width=width,
        height=height,
    )
