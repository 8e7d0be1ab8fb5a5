"""What the registry's routes need, and whose book a caller may open through them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Protocol

from fastapi import Path, Query

from postroom.domain.clock import Clock
from postroom.domain.contact_book import Remembered
from postroom.domain.errors import Code, Refused
from postroom.domain.person import NewPerson, Person
from postroom.domain.principal import Principal
from postroom.doors.guard.json_door import failures
from postroom.work.intents.agency import Agency
from postroom.work.people.confirm import Confirmer
from postroom.work.people.resolve import Resolver

REFUSALS: Final = failures(400, 401, 403, 404, 409, 413, 422, 503)
_ID: Final = "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"

Owner = Annotated[
    str | None, Query(max_length=255, description="Whose book; the caller's own by default.", alias="owner_agent")
]
Limit = Annotated[int, Query(ge=1, le=200)]
IdCursor = Annotated[str | None, Query(pattern=_ID, description="`next_cursor` of the page before.")]
Id = Annotated[str, Path(pattern=_ID)]


class ContactStore(Protocol):
    async def get(self, owner_agent: str, contact_id: str) -> Person | None: ...

    async def page(
        self, owner_agent: str, *, after: str | None, limit: int, only_contacts: bool = False
    ) -> Sequence[Person]: ...

    async def create(
        self, owner_agent: str, new: NewPerson, *, source: str, now_us: int, reserved_id: str | None = None
    ) -> Person: ...

    async def change(
        self, owner_agent: str, contact_id: str, edit: Callable[[Person], NewPerson], *, now_us: int
    ) -> Person | None: ...

    async def delete(self, owner_agent: str, person_id: str, *, now_us: int) -> bool: ...

    async def merge(
        self, owner_agent: str, cards: Sequence[NewPerson], *, source: str, now_us: int
    ) -> tuple[int, int]: ...


class MemoryRecord(Protocol):
    async def listed(self, owner_agent: str, *, after: str | None, limit: int) -> Sequence[Remembered]: ...

    async def forget(self, owner_agent: str, memory_id: str) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryParts:
    resolver: Resolver
    confirmer: Confirmer
    contacts: ContactStore
    memory: MemoryRecord
    agency: Agency
    clock: Clock

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
