"""Whom a call of `ask` names: people of the household, found once and fixed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Protocol

from postroom.domain.errors import FieldError, ValidationError
from postroom.domain.nearest import nearest
from postroom.domain.person import Person, PersonRole
from postroom.domain.principal import OWNER, Principal, Role
from postroom.domain.question import AskedPerson

_MOST_LISTED: Final = 5


class AskedPeople(Protocol):
    """Who is who in the household."""

    async def find(self, who: str) -> Sequence[Person]:
        """By id, exact name or alias; `owner` means the owner and no other."""
        ...

    async def at(self, channel: str, address: str) -> Person | None:
        """The person who has proved that this address is theirs."""
        ...

    async def owner(self) -> Person: ...

    async def names(self) -> Sequence[str]:
        """For telling who may have been meant."""
        ...


async def asked_people(
    people: AskedPeople, asker: Principal, names: Sequence[str], field: str
) -> tuple[AskedPerson, ...]:
    """Raises ValidationError on the field for a name that is no one's, or several people's."""
    return tuple(asked(person) for person in await found_people(people, asker, names, field))


async def found_people(people: AskedPeople, asker: Principal, names: Sequence[str], field: str) -> tuple[Person, ...]:
    """The same, with what is known of them."""
    found = [await _one(people, asker, name, field) for name in names]
    return tuple({person.id: person for person in found}.values())


async def in_reach(
    asker: Principal, found: Sequence[Person], find: Callable[[str], Awaitable[Sequence[Person]]]
) -> list[Person]:
    """
    Those of them whom the asker may write to; to it the others are as unknown as those who are nobody.

    The owner, and all that works for the owner, reach everybody. Whoever else calls reaches the owner and the person it
    works for; one of the household's own people, with a token of their own, also the others of them.
    """
    own = asker.serves
    if own == OWNER:
        return list(found)
    me = await find(own) if asker.role is Role.PERSON and own is not None else ()
    is_of_the_house = any(one.id == own and one.role is not PersonRole.CONTACT for one in me)
    return [one for one in found if one.id in (OWNER, own) or (is_of_the_house and one.role is not PersonRole.CONTACT)]


def asked(person: Person) -> AskedPerson:
    return AskedPerson(id=person.id, name=person.name or person.id)


def several(name: str, found: Sequence[Person]) -> str:
    """Only for who reaches all of them."""
    listed = ", ".join(f"{person.name} ({person.id})" for person in found[:_MOST_LISTED])
    return f"“{name}” is the name of several people: {listed}; name one by id"


async def _one(people: AskedPeople, asker: Principal, name: str, field: str) -> Person:
    found = await in_reach(asker, await people.find(name), people.find)
    if len(found) == 1:
        return found[0]
    if found:
        raise _wrong(field, several(name, found), "ambiguous_person")
    near = nearest(name, await people.names()) if asker.serves == OWNER else None
    hint = f"; did you mean “{near}”?" if near else ""
    raise _wrong(field, f"no person is called “{name}”{hint}", "unknown_person")


def _wrong(field: str, error: str, code: str) -> ValidationError:
    return ValidationError.of([FieldError(field, error, code)])
