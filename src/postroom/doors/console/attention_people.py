"""Whose attention a page is about: each person's own, and for the owner everybody's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol
from urllib.parse import urlencode

from starlette.exceptions import HTTPException

from postroom.domain.person import Person
from postroom.domain.person_id_of import person_id_of
from postroom.domain.principal import Principal
from postroom.doors.console.visit import Visit
from postroom.work.attention.attention import Attention

_LONGEST_ID: Final = 255


class Folk(Protocol):
    async def get(self, person_id: str) -> Person | None: ...

    async def household(self) -> Sequence[Person]:
        """Those who belong to it, and those who have notices."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Whose:
    """`of` is what an address or a form carries when the page is not the visitor's own."""

    id: str
    name: str
    is_own: bool
    zone: str

    @property
    def of(self) -> str:
        return "" if self.is_own else self.id

    def address(self, path: str = "", **more: str) -> str:
        """Below /console, with what makes it this person's."""
        asked = urlencode({name: value for name, value in {**more, "of": self.of}.items() if value})
        return f"/attention{path}" + (f"?{asked}" if asked else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionPeople:
    attention: Attention
    folk: Folk

    async def whose(self, visit: Visit, wanted: str) -> Whose:
        """404 for another person's, unless the owner asks for someone who is known."""
        own = own_id(visit)
        person_id = wanted[:_LONGEST_ID] or own
        if person_id != own and not visit.principal.is_owner:
            raise HTTPException(404)
        person = await self.folk.get(person_id)
        if person is None and person_id != own:
            raise HTTPException(404)
        zone = await self.attention.zone_of(person_id)
        return Whose(id=person_id, name=_name(person, person_id), is_own=person_id == own, zone=zone)

    async def names(self) -> dict[str, str]:
        return {one.id: _name(one, one.id) for one in await self.folk.household()}

    async def others(self, person_id: str) -> list[tuple[str, str]]:
        names = await self.names()
        return sorted(((one, name) for one, name in names.items() if one != person_id), key=lambda one: one[1].lower())


def own_id(visit: Visit) -> str:
    own = person_id_of(visit.principal)
    if own is None:
        raise HTTPException(404)
    return own


def is_somebody(who: Principal) -> bool:
    return person_id_of(who) is not None


def _name(person: Person | None, person_id: str) -> str:
    return (person.name if person is not None else "") or person_id
