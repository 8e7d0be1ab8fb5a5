"""Write one person down: the record, the names and the addresses, inside the caller's transaction."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from postroom.kernel.database.rows import values
from postroom.kernel.values.errors import Code, FieldError, Refused
from postroom.kernel.values.principal import CONTACT_PREFIX, HOUSEHOLD_OWNER, OWNER, user_address
from postroom.message.delivery import folded
from postroom.people.model import SIGN_IN, Keys, NewPerson, Person, PersonAddress, PersonRole, is_at, with_proof
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


class PersonWriter:
    """Every change raises the version of its book, so that those who hold the book know to look again."""

    def __init__(self, mint: Callable[[int], str], keys_of: Callable[[str], Keys]) -> None:
        self.mint = mint
        self._keys_of = keys_of

    def insert(
        self, connection: Connection, owner_agent: str, person_id: str, new: NewPerson, source: str, now_us: int
    ) -> Person:
        self.insert_many(connection, owner_agent, {person_id: new}, source, now_us)
        return read_people(connection, owner_agent, [person_id])[0]

    def insert_many(
        self, connection: Connection, owner_agent: str, fresh: Mapping[str, NewPerson], source: str, now_us: int
    ) -> None:
        """By their ids; as many statements for ten thousand as for one, but where an address is proved or taken."""
        addresses = self._new_addresses(connection, owner_agent, fresh, source)
        about = {"owner_agent": owner_agent, "source": source, "created_at": now_us, "updated_at": now_us}
        rows = [{"id": one, **about, **_columns(new, addresses[one])} for one, new in fresh.items()]
        connection.execute(insert(people), rows)
        self._add_names(connection, owner_agent, {one: self._names(new) for one, new in fresh.items()}, now_us)
        self._add_places(connection, owner_agent, {one: new.addresses for one, new in fresh.items()}, now_us)
        _open_new(connection, owner_agent, [place for new in fresh.values() for place in new.addresses])
        raise_version(connection, owner_agent)

    def update(self, connection: Connection, known: Person, new: NewPerson, now_us: int) -> Person:
        """By hand: from now on the settings file has no say in what was changed."""
        there = [
            one for one in new.addresses if not any(is_at(each, one.channel, one.address) for each in known.addresses)
        ]
        _open_new(connection, known.owner_agent, there)
        changed = self.apply(connection, known, new, now_us)
        if said(changed.as_written) != said(known.as_written):
            mine = people_seeds.c.person_id == known.id
            connection.execute(update(people_seeds).where(mine).values(changed=True))
        return changed

    def apply(self, connection: Connection, known: Person, new: NewPerson, now_us: int) -> Person:
        refuse_taken(connection, known.owner_agent, known.id, _kept_address(known, new))
        self.rewrite_many(connection, known.owner_agent, [(known, new)], now_us)
        return read_people(connection, known.owner_agent, [known.id])[0]

    def rewrite_many(
        self, connection: Connection, owner_agent: str, changes: Sequence[tuple[Person, NewPerson]], now_us: int
    ) -> None:
        """As for `insert_many`; that their agent addresses are free is the caller's to know."""
        rows = [{"whose": known.id, **_columns(new, _kept_address(known, new))} for known, new in changes]
        change = update(people).where(people.c.id == bindparam("whose")).values(updated_at=now_us)
        connection.execute(change, rows)
        self._rename(connection, owner_agent, {known.id: self._names(new) for known, new in changes}, now_us)
        for some in slices(known.id for known, _ in changes):
            connection.execute(delete(person_addresses).where(person_addresses.c.person_id.in_(some)))
        self._add_places(connection, owner_agent, {known.id: new.addresses for known, new in changes}, now_us)
        raise_version(connection, owner_agent)

    def prove(self, connection: Connection, person_id: str, channel: str, address: str, now_us: int) -> Person:
        """Of one of the household's people; raises Refused when another has proved the address before."""
        connection.execute(select(people.c.id).where(people.c.id == person_id).with_for_update())
        known = read_people(connection, HOUSEHOLD_OWNER, [person_id])
        if not known:
            raise Refused(Code.NOT_FOUND, "there is no such person")
        reopen(connection, channel, address)
        return self.update(connection, known[0], with_proof(known[0], channel, address, now_us), now_us)

    def remove(self, connection: Connection, owner_agent: str, *person_ids: str) -> bool:
        """Whether one of them was there."""
        removed = 0
        for some in slices(person_ids):
            gone = delete(people).where(people.c.id.in_(some), people.c.owner_agent == owner_agent)
            removed += connection.execute(gone).rowcount
        if removed:
            raise_version(connection, owner_agent)
        return removed > 0

    def name_again(self, connection: Connection, known: Person, now_us: int) -> None:
        """For people who came into the book by a way that knows nothing of how names are compared."""
        self._rename(connection, known.owner_agent, {known.id: self._names(known.as_written)}, now_us)
        raise_version(connection, known.owner_agent)

    def as_kept(self, new: NewPerson, known: Person) -> NewPerson:
        """What would be read again once this is written for that person."""
        return replace(
            new,
            aliases=tuple(alias for alias, is_name in self._names(new) if not is_name),
            agent_address=_kept_address(known, new),
            addresses=_distinct(new.addresses),
        )

    def normal(self, name: str) -> str:
        return self._keys_of(name).normal

    def _new_addresses(
        self, connection: Connection, owner_agent: str, fresh: Mapping[str, NewPerson], source: str
    ) -> dict[str, str]:
        own = {one: _own_address(one, new, source) for one, new in fresh.items()}
        taken = taken_of(connection, owner_agent, [address for address in own.values() if address])
        for one, new in fresh.items():
            if new.agent_address is not None and own[one] in taken:
                raise Refused(Code.CONTACT_EXISTS, _TAKEN)
        return {
            one: HOUSEHOLD_OWNER
            if fresh[one].role is PersonRole.OWNER
            else (address if address and address not in taken else CONTACT_PREFIX + one)
            for one, address in own.items()
        }

    def _rename(self, connection: Connection, owner_agent: str, named: Named, now_us: int) -> None:
        """An alias row never changes: what is no longer said goes, what is new comes under a new id."""
        table = contact_aliases.c
        known: dict[tuple[str, str, bool], str] = {}
        for some in slices(named):
            asked = select(table.id, table.contact_id, table.alias, table.is_name).where(table.contact_id.in_(some))
            known |= {(row.contact_id, row.alias, row.is_name): row.id for row in connection.execute(asked)}
        gone = [row_id for (one, *key), row_id in known.items() if tuple(key) not in named[one]]
        for some in slices(gone):
            connection.execute(delete(contact_aliases).where(table.id.in_(some)))
        missing = {
            one: {key: keys for key, keys in names.items() if (one, *key) not in known} for one, names in named.items()
        }
        self._add_names(connection, owner_agent, missing, now_us)

    def _add_names(self, connection: Connection, owner_agent: str, named: Named, now_us: int) -> None:
        rows = [
            {
                "id": self.mint(now_us),
                "contact_id": person_id,
                "owner_agent": owner_agent,
                "alias": alias,
                "is_name": is_name,
                **_key_columns(keys),
            }
            for person_id, names in named.items()
            for (alias, is_name), keys in names.items()
        ]
        if rows:
            connection.execute(insert(contact_aliases), rows)

    def _names(self, new: NewPerson) -> dict[tuple[str, bool], Keys]:
        """The name and every alias that says something else."""
        wanted: dict[tuple[str, bool], Keys] = {}
        said_before: set[str] = set()
        for place, alias in enumerate((new.name, *new.aliases)):
            keys = self._keys_of(alias)
            if keys.normal and keys.normal not in said_before:
                said_before.add(keys.normal)
                wanted[alias, place == 0] = keys
        return wanted

    def _add_places(
        self,
        connection: Connection,
        owner_agent: str,
        placed: Mapping[str, tuple[PersonAddress, ...]],
        now_us: int,
    ) -> None:
        rows = [
            {
                "id": self.mint(now_us),
                "person_id": person_id,
                "owner_agent": owner_agent,
                "channel": one.channel,
                "address": one.address,
                "folded": folded(one.address),
                "rank": one.rank,
                "verified_at": one.verified_at_us,
                "label": one.label,
            }
            for person_id, addresses in placed.items()
            for one in _distinct(addresses)
        ]
        for row in rows:
            if row["verified_at"] is not None:
                _refuse_proved(connection, row)
        if rows:
            connection.execute(insert(person_addresses), rows)


def _own_address(person_id: str, new: NewPerson, source: str) -> str:
    """What a person is to be called at; nothing for who has a contact's address anyway."""
    if new.role is PersonRole.OWNER:
        return ""
    return new.agent_address or (user_address(person_id) if source == SIGN_IN else "")


def _open_new(connection: Connection, book: str, places: Sequence[PersonAddress]) -> None:
    """Who writes an address down in the household's book means it: that mail to it came back is forgotten."""
    if book == HOUSEHOLD_OWNER:
        forget_bounces(connection, [(one.channel, one.address) for one in places])


def said(person: NewPerson) -> str:
    """As far as the settings file could have said it: that an address was proved is no contradiction to the file."""
    places = sorted((one.channel, folded(one.address), one.rank) for one in person.addresses)
    parts = [person.name, list(person.aliases), person.agent_address, str(person.role), person.trusted]
    return json.dumps([*parts, person.zone, person.language, places], ensure_ascii=False)


def refuse_taken(connection: Connection, owner_agent: str, person_id: str, address: str) -> None:
    if is_taken(connection, owner_agent, person_id, address):
        raise Refused(Code.CONTACT_EXISTS, _TAKEN)


def refuse_role(known: Person | None, new: NewPerson) -> None:
    """There is one owner, made at the first start; no record becomes it, and it becomes no other."""
    is_owner = known is not None and known.role is PersonRole.OWNER
    if is_owner != (new.role is PersonRole.OWNER):
        error = "is `owner` for the household's owner and for no other person"
        raise Refused.of(Code.SCHEMA_INVALID, [FieldError("role", error, "one_owner")])


def refuse_removal(owner_agent: str, person_id: str) -> None:
    if (owner_agent, person_id) == (HOUSEHOLD_OWNER, OWNER):
        raise Refused(Code.POLICY_DENIED, "the owner of the household cannot be removed")


def _refuse_proved(connection: Connection, row: Mapping[str, Any]) -> None:
    table = person_addresses.c
    asked = select(table.id).where(
        table.owner_agent == row["owner_agent"],
        table.channel == row["channel"],
        table.folded == row["folded"],
        table.verified_at.is_not(None),
        table.person_id != row["person_id"],
    )
    if connection.execute(asked).first():
        raise Refused(Code.CONTACT_EXISTS, f"another person has proved that this address on {row['channel']} is theirs")


def is_taken(connection: Connection, owner_agent: str, person_id: str, address: str) -> bool:
    asked = select(people.c.id).where(
        people.c.owner_agent == owner_agent, people.c.agent_address == address, people.c.id != person_id
    )
    return connection.execute(asked).first() is not None


def taken_of(connection: Connection, owner_agent: str, addresses: Sequence[str]) -> set[str]:
    """Those of these agent addresses that someone in the book has."""
    found: set[str] = set()
    for some in slices(addresses):
        mine = people.c.owner_agent == owner_agent, people.c.agent_address.in_(some)
        found.update(connection.execute(select(people.c.agent_address).where(*mine)).scalars())
    return found


def _kept_address(known: Person, new: NewPerson) -> str:
    """Contacts may have one of their own; the owner's and that of people who sign in is given."""
    if known.is_in_contact_book:
        return new.agent_address or CONTACT_PREFIX + known.id
    return known.agent_address


def _distinct(addresses: tuple[PersonAddress, ...]) -> tuple[PersonAddress, ...]:
    """Each once, the one that is tried first; in the order in which they are read again."""
    kept: dict[tuple[str, str], PersonAddress] = {}
    for one in sorted(addresses, key=lambda place: place.rank):
        kept.setdefault((one.channel, folded(one.address)), one)
    return tuple(kept.values())


def _columns(new: NewPerson, address: str) -> dict[str, Any]:
    return values(new, without=("aliases", "addresses"), agent_address=address)


def _key_columns(keys: Keys) -> dict[str, Any]:
    return {
        "normal": keys.normal,
        "folded": keys.folded,
        "latin": keys.latin,
        "skeletons": json.dumps(keys.skeletons),
        "script": keys.script,
    }


# Cards of a file join the contacts they belong to, or become contacts.


class CardMerger:
    def __init__(self, writer: PersonWriter) -> None:
        self._writer = writer

    def merging(
        self, owner_agent: str, cards: Sequence[NewPerson], source: str, now_us: int
    ) -> Callable[[Connection], tuple[int, int]]:
        ids = [self._writer.mint(now_us) for _ in cards]

        def work(connection: Connection) -> tuple[int, int]:
            created = updated = 0
            for person_id, card in zip(ids, cards, strict=True):
                known = self._same_person(connection, owner_agent, card)
                if known is None:
                    self._writer.insert(connection, owner_agent, person_id, card, source, now_us)
                    created += 1
                elif (merged := self._merged(known, card)) != known.as_written:
                    self._writer.update(connection, known, merged, now_us)
                    updated += 1
            return created, updated

        return work

    def _same_person(self, connection: Connection, owner_agent: str, card: NewPerson) -> Person | None:
        """By an address they share, or by the name when the addresses do not contradict each other."""
        for address in (card.agent_address, *(one.address for one in card.addresses)):
            if address and (known := with_address(connection, owner_agent, address)):
                return known
        normal = contact_aliases.c.normal == self._writer.normal(card.name)
        asked = select(contact_aliases.c.contact_id).where(searchable(owner_agent), normal)
        ids = sorted(set(connection.execute(asked).scalars()))
        found = read_people(connection, owner_agent, ids) if len(ids) == 1 else []
        return found[0] if found and _compatible(found[0], card) else None

    def _merged(self, known: Person, card: NewPerson) -> NewPerson:
        """A channel on which the person is known already keeps its address."""
        names = {self._writer.normal(name) for name in (known.name, *known.aliases)}
        more = tuple(name for name in (card.name, *card.aliases) if self._writer.normal(name) not in names)
        new = tuple(one for one in card.addresses if known.address_on(one.channel) is None)
        places = sorted((*known.addresses, *new), key=lambda one: one.rank)
        return replace(known.as_written, aliases=(*known.aliases, *more), addresses=tuple(places))


def _compatible(known: Person, card: NewPerson) -> bool:
    """On no channel do they have different addresses."""
    return all(
        (mine := known.address_on(one.channel)) is None or folded(mine) == folded(one.address) for one in card.addresses
    )
