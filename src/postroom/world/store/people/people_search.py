"""People of a book by how a name begins, by role, by channels that lead nowhere, and by what they have not proved."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from sqlalchemy import ColumnElement, Connection, false, or_, select

from postroom.domain.contact_book import Keys
from postroom.domain.person import Person, PersonRole
from postroom.world.store.engine.database import Database
from postroom.world.store.people.people_rows import read_people
from postroom.world.store.tables.contacts import contact_aliases
from postroom.world.store.tables.people import people, person_addresses


class StoredPeopleSearch:
    def __init__(self, database: Database, keys_of: Callable[[str], Keys]) -> None:
        self._database = database
        self._keys_of = keys_of

    async def listed(
        self, owner_agent: str, *, begins: str | None, role: PersonRole | None, after: str | None, limit: int
    ) -> Sequence[Person]:
        """`after` is the id the page before ended with."""
        asked = select(people.c.id).where(people.c.owner_agent == owner_agent).order_by(people.c.id).limit(limit)
        if begins is not None and begins.strip():
            asked = asked.where(self._begins(owner_agent, begins))
        if role is not None:
            asked = asked.where(people.c.role == role)
        if after is not None:
            asked = asked.where(people.c.id > after)

        def work(connection: Connection) -> Sequence[Person]:
            return read_people(connection, owner_agent, list(connection.execute(asked).scalars()))

        return await self._database.read(work)

    async def unreachable(self, owner_agent: str, channels: Collection[str], limit: int) -> Sequence[tuple[str, str]]:
        """Names, and the channel of an address that is none of these."""
        table = person_addresses.c
        asked = (
            select(people.c.name, table.channel)
            .distinct()
            .join(people, people.c.id == table.person_id)
            .where(table.owner_agent == owner_agent, table.channel.not_in(list(channels)))
            .order_by(table.channel, people.c.name)
            .limit(limit)
        )
        return await self._database.read(lambda connection: [(one, on) for one, on in connection.execute(asked)])

    async def unproved(self, owner_agent: str, limit: int) -> Sequence[str]:
        """Names of those without a verified address; those who decide come before contacts."""
        table = person_addresses.c
        proved = select(table.person_id).where(table.owner_agent == owner_agent, table.verified_at.is_not(None))
        asked = select(people.c.name).where(people.c.owner_agent == owner_agent, people.c.id.not_in(proved))
        asked = asked.order_by(people.c.role == PersonRole.CONTACT, people.c.name).limit(limit)
        return await self._database.read(lambda connection: list(connection.execute(asked).scalars()))

    def _begins(self, owner_agent: str, words: str) -> ColumnElement[bool]:
        """However it is written; what has no letters begins no name."""
        keys, table = self._keys_of(words), contact_aliases.c
        forms = [(table.folded, keys.folded), (table.latin, keys.latin)]
        fitting = [column.startswith(form, autoescape=True) for column, form in forms if form]
        named = select(table.contact_id).where(table.owner_agent == owner_agent, or_(false(), *fitting))
        return people.c.id.in_(named)
