"""A case as tests of this repository first wrote it, and what the installed suite makes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from postroom.domain.ports import Channel
from postroom.testing import Case as InstalledCase
from postroom.testing import FakeProvider, OwnWords, Situation

__all__ = ["Case", "InstalledCase", "Situation"]

# What the standard situations were called.
FORMERLY = {
    "accepted": "accepted",
    "slow": "held",
    "message_refused": "refused-for-ever",
    "credentials_refused": "credentials",
    "hang": "read-then-silence",
    "accepted_then_cut": "read-then-reset",
    "reset_before_reading": "reset-before-reading",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Without the words of its provider only some of the standard situations can be brought about."""

    name: str
    provider: Callable[[], FakeProvider]
    connect: Callable[[int], Channel]
    address: str
    not_an_address: str
    text: str
    secrets: Sequence[str]
    edits: bool = False
    situations: Sequence[Situation]

    def installed(self) -> InstalledCase:
        return InstalledCase(
            name=self.name,
            connect=lambda place: self.connect(place.port),
            words=OwnWords(make=self.provider, scripts=self._standard()),
            address=self.address,
            not_an_address=self.not_an_address,
            text=self.text,
            secrets=self.secrets,
            more=self.situations,
        )

    def _standard(self) -> list[Situation]:
        first: dict[str, Situation] = {}
        for one in self.situations:
            name = FORMERLY.get(one.id.partition("/")[0])
            if name is not None and not one.editing and not (name == "read-then-silence" and one.taken == 0):
                first.setdefault(name, replace(one, id=name))
        return list(first.values())
