"""A contact book in the order of its names, or only those that hold some words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from sqlalchemy import Connection, Select, and_, or_, select

from postroom.domain.address_folding import folded
from postroom.domain.contact_book import Keys
from postroom.domain.person import Person
from postroom.world.store.engine.database import Database
from postroom.world.store.people.people_rows import read_people, searchable
from postroom.world.store.tables.contacts import contact_aliases
from postroom.world.store.tables.people import people, person_addresses

_NAMES: Final = contact_aliases.c


class StoredContactSearch:
    def __init__(self, database: Database, keys_of: Callable[[str], Keys]) -> None:
        self._database = database
        self._keys_of = keys_of

    async def listed(self, owner_agent: str, words: str, *, after: str | None, limit: int) -> Sequence[Person]:
        """`after` is the id the page before ended with."""
        asked = select(_NAMES.contact_id).where(searchable(owner_agent), _NAMES.is_name)
        if words.strip():
            asked = asked.where(_NAMES.contact_id.in_(self._holding(owner_agent, words)))

        def work(connection: Connection) -> Sequence[Person]:
            ids = connection.execute(_from_there(connection, asked, after).limit(limit)).scalars()
            return read_people(connection, owner_agent, list(ids))

        return await self._database.read(work)

    def _holding(self, owner_agent: str, words: str) -> Select[Any]:
        """In a name however it is written, or in an address; a word that is no name has no letters to look for."""
        keys, typed = self._keys_of(words), folded(words.strip())
        forms = [(_NAMES.folded, keys.folded), (_NAMES.latin, keys.latin)]
        named = [column.contains(form, autoescape=True) for column, form in forms if form]
        places = select(person_addresses.c.person_id).where(
            person_addresses.c.owner_agent == owner_agent, person_addresses.c.folded.contains(typed, autoescape=True)
        )
        reached = [people.c.agent_address.contains(typed, autoescape=True), people.c.id.in_(places)]
        return (
            select(people.c.id)
            .join(contact_aliases, _NAMES.contact_id == people.c.id)
            .where(people.c.owner_agent == owner_agent, or_(*named, *reached))
        )


def _from_there(connection: Connection, asked: Select[Any], after: str | None) -> Select[Any]:
    """A contact that was deleted meanwhile is no place to go on from, so the list begins again."""
    found = asked.order_by(_NAMES.folded, _NAMES.contact_id)
    if after is None:
        return found
    last = connection.execute(select(_NAMES.folded).where(_NAMES.contact_id == after, _NAMES.is_name)).scalar()
    if last is None:
        return found
    same = and_(_NAMES.folded == last, _NAMES.contact_id > after)
    return found.where(or_(_NAMES.folded > last, same))
