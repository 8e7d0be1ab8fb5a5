"""Whom a token is for: a person of this household, without a running one."""

from __future__ import annotations

from dataclasses import dataclass

from postroom.app.people import opened_people
from postroom.domain.settings_error import SettingsError
from postroom.system.settings import Settings
from postroom.work.people.people import People


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownPerson:
    id: str
    is_new: bool


async def known_person(settings: Settings, who: str) -> KnownPerson:
    """By id, name or alias; one who is not known yet is written down as a member under this id."""
    async with opened_people(settings) as people:
        found = await _called(people, who)
        if found is None:
            await people.admit(who)
        return KnownPerson(id=found or who, is_new=found is None)


async def id_of(settings: Settings, who: str) -> str | None:
    async with opened_people(settings) as people:
        return await _called(people, who)


async def _called(people: People, who: str) -> str | None:
    """Never one of several."""
    found = await people.called(who)
    if len(found) > 1:
        named = ", ".join(f"{one.name} ({one.id})" for one in found)
        raise SettingsError(f"{len(found)} people are called '{who}': {named}. Say which one by the id.")
    return found[0].id if found else None
