"""A process that sends for a household: the household's own, or one that `postroom worker` added to it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LivingWorker:
    """`alone`: it does nothing else."""

    name: str
    alone: bool
    since_us: int
    seen_us: int

    @property
    def words(self) -> str:
        return f"{'postroom worker' if self.alone else 'postroom up'} on {self.name}"
