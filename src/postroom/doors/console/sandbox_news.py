"""What every page says while the household runs on its sandbox."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from postroom.doors.console.words import channel_word


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxNews:
    """`played` are the channels that the sandbox plays, `live` those that reach people all the same."""

    played: Sequence[str]
    live: Sequence[str] = ()

    @property
    def words(self) -> str:
        if not self.live:
            return "Nothing leaves this machine."
        return f"{_listed(self.played)} stay on this machine; {_listed(self.live)} {_reach(self.live)} people."


def _listed(names: Sequence[str]) -> str:
    said = [channel_word(name) for name in names]
    return " and ".join(part for part in (", ".join(said[:-1]), said[-1]) if part)


def _reach(names: Sequence[str]) -> str:
    return "reaches" if len(names) == 1 else "reach"
