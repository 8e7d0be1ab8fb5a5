"""Whom the words of a search name, so that a list can be searched by person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from postroom.domain.address_folding import folded
from postroom.domain.agent_address import HOUSEHOLD_OWNER
from postroom.domain.person import Person
from postroom.work.people.called import is_called

_MOST_LOOKED_AT: Final = 100
_MOST_NAMED: Final = 20


class BookSearch(Protocol):
    async def listed(self, owner_agent: str, words: str, *, after: str | None, limit: int) -> Sequence[Person]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Concerned:
    search: BookSearch

    async def people(self, words: str) -> Sequence[Person]:
        """Of the household's people those who are called so; nobody for words that are no name."""
        if not words.strip():
            return []
        found = await self.search.listed(HOUSEHOLD_OWNER, words, after=None, limit=_MOST_LOOKED_AT)
        return [one for one in found if is_called(one, words)][:_MOST_NAMED]

    async def places(self, words: str) -> Sequence[str]:
        """Their addresses, as the ledger keeps whom a delivery is for."""
        people = await self.people(words)
        return [f"{one.channel}:{folded(one.address)}" for person in people for one in person.addresses]
