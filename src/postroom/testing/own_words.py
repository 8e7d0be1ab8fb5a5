"""A fake provider of an author's own making, with situations of its own and none of the standard ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from postroom.testing.servers.fake_server import FakeProvider
from postroom.testing.situation import Situation


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnWords:
    """
    For a provider that speaks neither HTTP nor SMTP; `scripts` are its standard situations, by their ids.

    `absent` are those that it cannot bring about, each with the reason.
    """

    make: Callable[[], FakeProvider]
    scripts: Sequence[Situation] = ()
    absent: Mapping[str, str] = field(default_factory=dict)

    def provider(self) -> FakeProvider:
        return self.make()

    def situations(self, text: str, secrets: Sequence[str], now: datetime) -> Iterator[Situation]:
        yield from self.scripts
