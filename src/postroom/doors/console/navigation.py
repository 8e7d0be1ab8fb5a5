"""Where a person can go: what is theirs first, then the household's, with how much waits behind each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

_IN_REACH: Final = 4  # on a phone, beside the rest behind one button


class NavigationGroup(StrEnum):
    YOURS = "Yours"
    HOUSEHOLD = "Household"


@dataclass(frozen=True, slots=True, kw_only=True)
class NavigationEntry:
    name: str
    path: str
    group: NavigationGroup
    waiting: int = 0

    def leads_to(self, here: str) -> bool:
        return here == self.path or (not self.path.endswith("/") and here.startswith(f"{self.path}/"))


@dataclass(frozen=True, slots=True)
class Navigation:
    entries: Sequence[NavigationEntry] = ()

    @property
    def groups(self) -> Sequence[tuple[NavigationGroup, Sequence[NavigationEntry]]]:
        sorted_in = [(group, [one for one in self.entries if one.group is group]) for group in NavigationGroup]
        return [(group, entries) for group, entries in sorted_in if entries]

    @property
    def quick(self) -> Sequence[NavigationEntry]:
        """What a thumb reaches: the first of what is theirs."""
        return [one for one in self.entries if one.group is NavigationGroup.YOURS][:_IN_REACH]

    @property
    def waiting_elsewhere(self) -> int:
        return sum(one.waiting for one in self.entries) - sum(one.waiting for one in self.quick)

    @property
    def reachable(self) -> frozenset[str]:
        return frozenset(one.path for one in self.entries)
