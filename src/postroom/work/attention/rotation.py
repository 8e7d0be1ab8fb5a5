"""Who is on duty: people who take turns from a wall clock time on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotation:
    """
    `anchor`: the wall clock time of the first handover, such as 2026-01-05T09:00, in `zone`.

    `overrides`: (from, until, person) in absolute time; the later one wins. No people is a gap, not an error.
    """

    anchor: str
    zone: str
    every_days: int
    people: tuple[str, ...]
    overrides: tuple[tuple[int, int, str], ...] = ()


def on_duty(rotation: Rotation, now_us: int) -> str | None:
    raise NotImplementedError
