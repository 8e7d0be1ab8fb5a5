"""What callers do about people and contacts: whose record and whose book they may touch."""

from __future__ import annotations

from dataclasses import dataclass

from postroom.conversations.history import Histories
from postroom.kernel.values.errors import Code, Refused
from postroom.kernel.values.principal import Agency, Principal, Role
from postroom.people.model import Person
from postroom.people.names.resolve import Resolver
from postroom.people.pairing import Pairing
from postroom.people.people import People


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleDesk:
    people: People
    """Of the household's own book."""
    pairing: Pairing
    resolver: Resolver
    histories: Histories
    agency: Agency

    async def person(self, caller: Principal, person_id: str) -> Person:
        """Of the owner any person; of another person themselves."""
        self.check_own(caller, person_id)
        return await self.people.get(person_id)

    def check_own(self, caller: Principal, person_id: str) -> None:
        if not caller.is_owner and not (caller.role is Role.PERSON and caller.name == person_id):
            raise Refused(Code.POLICY_DENIED, f"{caller} may not do this")

    def book(self, caller: Principal, owner: str | None) -> str:
        """The book a caller may ask for one name at a time."""
        return self.agency.sender(caller, owner, "owner_agent")

    def own_book(self, caller: Principal, owner: str | None) -> str:
        """
        People look through their books and write them. A model that could read them would know
        everybody's address; one that could write would choose whom the names in it mean.
        """
        book = self.book(caller, owner)
        if not caller.is_person:
            raise Refused(Code.POLICY_DENIED, "only a person can look through a contact book or change it")
        return book
