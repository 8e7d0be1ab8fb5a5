"""The household's people: one way to write them down, whichever door it came through."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from postroom.domain.address_folding import folded
from postroom.domain.address_order import has_proved, is_at
from postroom.domain.agent_address import HOUSEHOLD_OWNER
from postroom.domain.clock import Clock
from postroom.domain.errors import Code, FieldError, Refused
from postroom.domain.person import SIGN_IN, NewPerson, Person, PersonAddress, PersonRole
from postroom.domain.person_draft import PersonDraft, draft_of
from postroom.domain.person_history import HistoryQuery, PersonHistory
from postroom.work.people.new_person import AddressForms, new_person


class PersonStore(Protocol):
    async def find(self, owner_agent: str, who: str) -> Sequence[Person]:
        """By id, or exactly by name or alias; `owner` is the owner."""
        ...

    async def get(self, owner_agent: str, person_id: str) -> Person | None: ...

    async def create(
        self, owner_agent: str, new: NewPerson, *, source: str, now_us: int, reserved_id: str | None = None
    ) -> Person: ...

    async def change(
        self, owner_agent: str, person_id: str, edit: Callable[[Person], NewPerson], *, now_us: int
    ) -> Person | None: ...

    async def delete(self, owner_agent: str, person_id: str, *, now_us: int) -> bool: ...

    async def at(self, owner_agent: str, channel: str, address: str) -> Sequence[Person]: ...

    async def reopen(self, channel: str, address: str) -> None:
        """It is written to again, whatever had closed it."""
        ...


class PersonSearch(Protocol):
    async def listed(
        self, owner_agent: str, *, begins: str | None, role: PersonRole | None, after: str | None, limit: int
    ) -> Sequence[Person]:
        """With `begins`, those of whom a name or an alias begins so, however it is written."""
        ...


class PersonRecords(Protocol):
    async def of(self, person: Person, wanted: HistoryQuery) -> PersonHistory: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    store: PersonStore
    search: PersonSearch
    history: PersonRecords
    forms: AddressForms
    clock: Clock
    book: str = HOUSEHOLD_OWNER
    moved: Callable[[], None] | None = None  # told when somebody's time zone is another one

    async def get(self, person_id: str) -> Person:
        if (found := await self.store.get(self.book, person_id)) is not None:
            return found
        raise missing()

    async def called(self, who: str) -> Sequence[Person]:
        return await self.store.find(self.book, who)

    async def create(self, draft: PersonDraft, *, source: str, reserved_id: str | None = None) -> Person:
        new, now_us = new_person(draft, self.forms), self.clock.now_us()
        await self._refuse_proved(reserved_id, new)
        return await self.store.create(self.book, new, source=source, now_us=now_us, reserved_id=reserved_id)

    async def change(self, person_id: str, *, reopen: Sequence[tuple[str, str]] = (), **given: Any) -> Person:
        """`given` are fields of a draft; the others stay. The addresses in `reopen` are written to again."""
        if reopen:
            await self._reopen(await self.get(person_id), reopen)
        return await self.edit(person_id, lambda draft: replace(draft, **given))

    async def _reopen(self, person: Person, places: Sequence[tuple[str, str]]) -> None:
        for place, (channel, address) in enumerate(places):
            if not any(is_at(one, channel, address) for one in person.addresses):
                error = f"{person.name} has no such address"
                raise Refused.of(Code.SCHEMA_INVALID, [FieldError(f"reopen.{place}", error, "unknown_address")])
        for channel, address in places:
            await self.store.reopen(channel, address)

    async def edit(self, person_id: str, edit: Callable[[PersonDraft], PersonDraft]) -> Person:
        def edited(person: Person) -> NewPerson:
            return new_person(edit(draft_of(person)), self.forms, person)

        known = await self.get(person_id)
        await self._refuse_proved(person_id, edited(known), {_place(one) for one in known.addresses})
        found = await self.store.change(self.book, person_id, edited, now_us=self.clock.now_us())
        if found is None:
            raise missing()
        if self.moved is not None and found.zone != known.zone:
            self.moved()
        return found

    async def delete(self, person_id: str) -> None:
        if not await self.store.delete(self.book, person_id, now_us=self.clock.now_us()):
            raise missing()

    async def admit(self, person_id: str) -> None:
        """A person who will sign in and is not known yet."""
        draft = PersonDraft(name=person_id, role=PersonRole.MEMBER.value)
        await self.create(draft, source=SIGN_IN, reserved_id=person_id)

    async def _refuse_proved(
        self, person_id: str | None, new: NewPerson, kept: Collection[tuple[str, str]] = ()
    ) -> None:
        """An address that another person has proved to be theirs is not written down for anybody else."""
        for one in new.addresses:
            if _place(one) not in kept and any(
                other.id != person_id and has_proved(other, one.channel, one.address)
                for other in await self.store.at(self.book, one.channel, one.address)
            ):
                error = f"the one on {one.channel} is verified for another person"
                raise Refused.of(Code.CONTACT_EXISTS, [FieldError("addresses", error, "taken")])


def _place(one: PersonAddress) -> tuple[str, str]:
    return one.channel, folded(one.address)


def missing() -> Refused:
    return Refused(Code.NOT_FOUND, "there is no such person")
