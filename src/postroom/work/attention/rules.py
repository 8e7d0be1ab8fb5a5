"""What counts for one person: the household's policy and the person's own, made one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from postroom.domain.attention import AcceptedNotice
from postroom.work.attention.policy import Policy
from postroom.work.attention.rotation import Rotation


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyBook:
    household: Policy | None = None
    people: Mapping[str, Policy] = field(default_factory=dict)
    rotations: Mapping[str, Rotation] = field(default_factory=dict)

    def neutral(self, person: str) -> bool:
        """Neither the household nor the person has a policy: everything leaves at once and no row is written."""
        return self.household is None and person not in self.people


def needs_row(book: PolicyBook, notice: AcceptedNotice) -> bool:
    """Whether a notice is to be stored and decided at all; if not, it is handed over as if there were no engine."""
    raise NotImplementedError
