"""Records of those who can sign in: made for those who have none, and in the role the settings give until changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlalchemy import Connection, delete, insert, select

from postroom.domain.agent_address import HOUSEHOLD_OWNER
from postroom.domain.person import SIGN_IN, NewPerson, Person, PersonRole
from postroom.domain.principal import OWNER
from postroom.world.store.people.people_rows import read_people
from postroom.world.store.people.person_writer import PersonWriter
from postroom.world.store.tables.contacts import contact_aliases
from postroom.world.store.tables.people import people, people_seeds


class SignIns:
    """Their rows in `people_seeds` stand apart: the file does not say who they are, only what they may."""

    def __init__(self, writer: PersonWriter) -> None:
        self._writer = writer

    def admit(self, connection: Connection, signing_in: Mapping[str, PersonRole], now_us: int) -> None:
        changed = _changed(connection)
        for person in self._known(connection, now_us):
            if person.id not in changed:
                self._remember(connection, person.id)
            if not changed.get(person.id, False):
                self._keep_role(connection, person, signing_in.get(person.id, PersonRole.MEMBER), now_us)
        asked = select(people.c.id).where(people.c.id.in_([*signing_in]))
        for one in sorted(signing_in.keys() - set(connection.execute(asked).scalars()) - {OWNER}):
            new = NewPerson(name=one, role=signing_in[one])
            self._writer.insert(connection, HOUSEHOLD_OWNER, one, new, SIGN_IN, now_us)
            self._remember(connection, one)

    def _known(self, connection: Connection, now_us: int) -> list[Person]:
        """With names that can be found, also those who came by way of the upgrade."""
        asked = select(people.c.id).where(people.c.owner_agent == HOUSEHOLD_OWNER, people.c.source == SIGN_IN)
        found = read_people(connection, HOUSEHOLD_OWNER, list(connection.execute(asked).scalars()))
        table = contact_aliases.c
        names = select(table.contact_id).where(table.is_name, table.contact_id.in_([one.id for one in found]))
        named = set(connection.execute(names).scalars())
        for person in found:
            if person.id not in named:
                self._writer.name_again(connection, person, now_us)
        return [person for person in found if person.role is not PersonRole.OWNER]

    def _keep_role(self, connection: Connection, person: Person, role: PersonRole, now_us: int) -> None:
        """Who is named as an approver no longer decides no longer."""
        if person.role is not role:
            self._writer.apply(connection, person, replace(person.as_written, role=role), now_us)

    def _remember(self, connection: Connection, person_id: str) -> None:
        connection.execute(delete(people_seeds).where(people_seeds.c.person_id == person_id))
        row = {"person_id": person_id, "owner_agent": SIGN_IN, "name": person_id, "said": "", "changed": False}
        connection.execute(insert(people_seeds), row)


def _changed(connection: Connection) -> dict[str, bool]:
    table = people_seeds.c
    asked = select(table.person_id, table.changed).where(table.owner_agent == SIGN_IN)
    return {row.person_id: row.changed for row in connection.execute(asked)}
