"""Write people down: the record, the names and the addresses, inside the caller's transaction."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from postroom.kernel.database.rows import values
from postroom.kernel.values.errors import Code, FieldError, Refused
from postroom.kernel.values.principal import CONTACT_PREFIX, HOUSEHOLD_OWNER, user_address
from postroom.message.delivery import folded
from postroom.people.model import (
    SIGN_IN,
    Keys,
    NewPerson,
    Person,
    PersonAddress,
    PersonRole,
    distinct,
    is_at,
    no_person,
    with_proof,
)
from postroom.people.names.normalise import keys_of, normalise
from postroom.people.store.rows import (
    forget_bounces,
    raise_version,
    read_people,
    reopen,
    searchable,
    slices,
    with_address,
)
from postroom.people.store.tables import contact_aliases, people, people_seeds, person_addresses

Named = Mapping[str, Mapping[tuple[str, bool], Keys]]  # by the person's id
_TAKEN: Final = "another contact in this book has this agent address"


@dataclass(frozen=True, slots=True)
class BookWriter:
    """
    One transaction in one book.

    Every change raises the version of the book, so that those who hold it know to look again.
    """

    connection: Connection
    book: str
    mint: Callable[[int], str]
    now_us: int

    def read(self, ids: Sequence[str]) -> list[Person]:
        return read_people(self.connection, self.book, ids)

    def held(self, person_id: str) -> Person | None:
        """Whom no other transaction changes until this one has ended."""
        self.connection.execute(select(people.c.id).where(people.c.id == person_id).with_for_update())
        return next(iter(self.read([person_id])), None)

    def person(self, person_id: str) -> Person:
        """Held, too; raises Refused when there is none."""
        if (found := self.held(person_id)) is None:
            raise no_person()
        return found

    def insert(self, person_id: str, new: NewPerson, source: str) -> Person:
        self.insert_many({person_id: new}, source)
        return self.read([person_id])[0]

    def insert_many(self, fresh: Mapping[str, NewPerson], source: str) -> None:
        """By their ids; as many statements for ten thousand as for one, but where an address is proved or taken."""
        addresses = self._new_addresses(fresh, source)
        about = {"owner_agent": self.book, "source": source, "created_at": self.now_us, "updated_at": self.now_us}
        rows = [{"id": one, **about, **_columns(new, addresses[one])} for one, new in fresh.items()]
        self.connection.execute(insert(people), rows)
        self._add_names({one: _names(new) for one, new in fresh.items()})
        self._add_places({one: new.addresses for one, new in fresh.items()})
        self._open_new([place for new in fresh.values() for place in new.addresses])
        raise_version(self.connection, self.book)

    def update(self, known: Person, new: NewPerson) -> Person:
        """By hand: from now on the settings file has no say in what was changed."""
        self._open_new(
            [one for one in new.addresses if not any(is_at(each, one.channel, one.address) for each in known.addresses)]
        )
        changed = self.apply(known, new)
        if said(changed.as_written) != said(known.as_written):
            mine = people_seeds.c.person_id == known.id
            self.connection.execute(update(people_seeds).where(mine).values(changed=True))
        return changed

    def apply(self, known: Person, new: NewPerson) -> Person:
        address = _kept_address(known, new)
        if address != known.agent_address and taken_of(self.connection, self.book, [address]):
            raise Refused(Code.CONTACT_EXISTS, _TAKEN)
        self.rewrite_many([(known, new)])
        return self.read([known.id])[0]

    def rewrite_many(self, changes: Sequence[tuple[Person, NewPerson]]) -> None:
        """As for `insert_many`; that their agent addresses are free is the caller's to know."""
        rows = [{"whose": known.id, **_columns(new, _kept_address(known, new))} for known, new in changes]
        change = update(people).where(people.c.id == bindparam("whose")).values(updated_at=self.now_us)
        self.connection.execute(change, rows)
        self._rename({known.id: _names(new) for known, new in changes})
        for some in slices(known.id for known, _ in changes):
            self.connection.execute(delete(person_addresses).where(person_addresses.c.person_id.in_(some)))
        self._add_places({known.id: new.addresses for known, new in changes})
        raise_version(self.connection, self.book)

    def prove(self, person_id: str, channel: str, address: str) -> Person:
        """Raises Refused when another has proved the address before."""
        known = self.person(person_id)
        reopen(self.connection, channel, address)
        return self.update(known, with_proof(known, channel, address, self.now_us))

    def remove(self, *person_ids: str) -> bool:
        """Whether one of them was there."""
        removed = 0
        for some in slices(person_ids):
            gone = delete(people).where(people.c.id.in_(some), people.c.owner_agent == self.book)
            removed += self.connection.execute(gone).rowcount
        if removed:
            raise_version(self.connection, self.book)
        return removed > 0

    def _new_addresses(self, fresh: Mapping[str, NewPerson], source: str) -> dict[str, str]:
        """One of their own, or that of their inbox while it is free, or else one made from the id."""
        found = {one: CONTACT_PREFIX + one for one in fresh}
        own = {
            one: new.agent_address or user_address(one)
            for one, new in fresh.items()
            if new.role is not PersonRole.OWNER and (new.agent_address or source == SIGN_IN)
        }
        taken = taken_of(self.connection, self.book, list(own.values()))
        if any(fresh[one].agent_address for one, address in own.items() if address in taken):
            raise Refused(Code.CONTACT_EXISTS, _TAKEN)
        found |= {one: address for one, address in own.items() if address not in taken}
        return found | {one: HOUSEHOLD_OWNER for one, new in fresh.items() if new.role is PersonRole.OWNER}

    def _rename(self, named: Named) -> None:
        """An alias row never changes: what is no longer said goes, what is new comes under a new id."""
        table = contact_aliases.c
        known: dict[tuple[str, str, bool], str] = {}
        for some in slices(named):
            asked = select(table.id, table.contact_id, table.alias, table.is_name).where(table.contact_id.in_(some))
            known |= {(row.contact_id, row.alias, row.is_name): row.id for row in self.connection.execute(asked)}
        gone = [row_id for (one, *key), row_id in known.items() if tuple(key) not in named[one]]
        for some in slices(gone):
            self.connection.execute(delete(contact_aliases).where(table.id.in_(some)))
        self._add_names(
            {
                one: {key: keys for key, keys in names.items() if (one, *key) not in known}
                for one, names in named.items()
            }
        )

    def _add_names(self, named: Named) -> None:
        rows = [
            values(
                keys,
                id=self.mint(self.now_us),
                contact_id=person_id,
                owner_agent=self.book,
                alias=alias,
                is_name=is_name,
            )
            for person_id, names in named.items()
            for (alias, is_name), keys in names.items()
        ]
        if rows:
            self.connection.execute(insert(contact_aliases), rows)

    def _add_places(self, placed: Mapping[str, tuple[PersonAddress, ...]]) -> None:
        rows = []
        for person_id, addresses in placed.items():
            for one in distinct(addresses):
                if one.verified_at_us is not None:
                    self._refuse_proved(person_id, one)
                about = {"id": self.mint(self.now_us), "person_id": person_id, "owner_agent": self.book}
                rows.append(values(one, without=("came_back",), folded=folded(one.address), **about))
        if rows:
            self.connection.execute(insert(person_addresses), rows)

    def _refuse_proved(self, person_id: str, one: PersonAddress) -> None:
        table = person_addresses.c
        asked = select(table.id).where(
            table.owner_agent == self.book,
            table.channel == one.channel,
            table.folded == folded(one.address),
            table.verified_at.is_not(None),
            table.person_id != person_id,
        )
        if self.connection.execute(asked).first():
            raise Refused(
                Code.CONTACT_EXISTS, f"another person has proved that this address on {one.channel} is theirs"
            )

    def _open_new(self, places: Sequence[PersonAddress]) -> None:
        """Who writes an address down in the household's book means it: that mail to it came back is forgotten."""
        if self.book == HOUSEHOLD_OWNER:
            forget_bounces(self.connection, [(one.channel, one.address) for one in places])


def as_kept(new: NewPerson, known: Person) -> NewPerson:
    """What would be read again once this is written for that person."""
    return replace(
        new,
        aliases=tuple(alias for alias, is_name in _names(new) if not is_name),
        agent_address=_kept_address(known, new),
        addresses=distinct(new.addresses),
    )


def _names(new: NewPerson) -> dict[tuple[str, bool], Keys]:
    """The name and every alias that says something else."""
    wanted: dict[tuple[str, bool], Keys] = {}
    said_before: set[str] = set()
    for place, alias in enumerate((new.name, *new.aliases)):
        keys = keys_of(alias)
        if keys.normal and keys.normal not in said_before:
            said_before.add(keys.normal)
            wanted[alias, place == 0] = keys
    return wanted


def _kept_address(known: Person, new: NewPerson) -> str:
    """Contacts may have one of their own; the owner's and that of people who sign in is given."""
    if known.is_in_contact_book:
        return new.agent_address or CONTACT_PREFIX + known.id
    return known.agent_address


def _columns(new: NewPerson, address: str) -> dict[str, Any]:
    return values(new, without=("aliases", "addresses"), agent_address=address)


def said(person: NewPerson) -> str:
    """As far as the settings file could have said it: that an address was proved is no contradiction to the file."""
    places = sorted((*one.key, one.rank) for one in person.addresses)
    parts = [person.name, list(person.aliases), person.agent_address, str(person.role), person.trusted]
    return json.dumps([*parts, person.zone, person.language, places], ensure_ascii=False)


def refuse_role(known: Person | None, new: NewPerson) -> None:
    """There is one owner, made at the first start; no record becomes it, and it becomes no other."""
    is_owner = known is not None and known.role is PersonRole.OWNER
    if is_owner != (new.role is PersonRole.OWNER):
        error = "is `owner` for the household's owner and for no other person"
        raise Refused.of(Code.SCHEMA_INVALID, [FieldError("role", error, "one_owner")])


def taken_of(connection: Connection, owner_agent: str, addresses: Sequence[str]) -> set[str]:
    """Those of these agent addresses that someone in the book has."""
    found: set[str] = set()
    for some in slices(addresses):
        mine = people.c.owner_agent == owner_agent, people.c.agent_address.in_(some)
        found.update(connection.execute(select(people.c.agent_address).where(*mine)).scalars())
    return found


# Cards of a file join the contacts they belong to, or become contacts.


def merge(writer: BookWriter, cards: Sequence[NewPerson], source: str) -> tuple[int, int]:
    """How many became contacts, and how many added something to one."""
    created = updated = 0
    for card in cards:
        known = _same_person(writer, card)
        if known is None:
            writer.insert(writer.mint(writer.now_us), card, source)
            created += 1
        elif (merged := _merged(known, card)) != known.as_written:
            writer.update(known, merged)
            updated += 1
    return created, updated


def _same_person(writer: BookWriter, card: NewPerson) -> Person | None:
    """By an address they share, or by the name when the addresses do not contradict each other."""
    for address in (card.agent_address, *(one.address for one in card.addresses)):
        if address and (known := with_address(writer.connection, writer.book, address)):
            return known
    called_so = contact_aliases.c.normal == normalise(card.name)
    asked = select(contact_aliases.c.contact_id).where(searchable(writer.book), called_so)
    ids = sorted(set(writer.connection.execute(asked).scalars()))
    found = writer.read(ids) if len(ids) == 1 else []
    return found[0] if found and _compatible(found[0], card) else None


def _compatible(known: Person, card: NewPerson) -> bool:
    """On no channel do they have different addresses."""
    return all(
        (mine := known.address_on(one.channel)) is None or folded(mine) == folded(one.address) for one in card.addresses
    )


def _merged(known: Person, card: NewPerson) -> NewPerson:
    """A channel on which the person is known already keeps its address."""
    names = {normalise(name) for name in (known.name, *known.aliases)}
    more = tuple(name for name in (card.name, *card.aliases) if normalise(name) not in names)
    new = tuple(one for one in card.addresses if known.address_on(one.channel) is None)
    places = sorted((*known.addresses, *new), key=lambda one: one.rank)
    return replace(known.as_written, aliases=(*known.aliases, *more), addresses=tuple(places))
