"""Write one person down: the record, the names and the addresses, inside the caller's transaction."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from postroom.domain.address_folding import folded
from postroom.domain.address_order import is_at, with_proof
from postroom.domain.agent_address import CONTACT_PREFIX, HOUSEHOLD_OWNER, user_address
from postroom.domain.closed_address import Closing
from postroom.domain.contact_book import Keys
from postroom.domain.errors import Code, FieldError, Refused
from postroom.domain.person import SIGN_IN, NewPerson, Person, PersonAddress, PersonRole
from postroom.domain.principal import OWNER
from postroom.world.store.people.closed_addresses import reopen
from postroom.world.store.people.people_rows import raise_version, read_people
from postroom.world.store.tables.contacts import contact_aliases
from postroom.world.store.tables.people import people, people_seeds, person_addresses


class PersonWriter:
    """Every change raises the version of its book, so that those who hold the book know to look again."""

    def __init__(self, mint: Callable[[int], str], keys_of: Callable[[str], Keys]) -> None:
        self.mint = mint
        self._keys_of = keys_of

    def insert(
        self, connection: Connection, owner_agent: str, person_id: str, new: NewPerson, source: str, now_us: int
    ) -> Person:
        address = self._new_address(connection, owner_agent, person_id, new, source)
        row = {
            "id": person_id,
            "owner_agent": owner_agent,
            **_columns(new, address),
            "source": source,
            "created_at": now_us,
            "updated_at": now_us,
        }
        connection.execute(insert(people), row)
        self._add_names(connection, owner_agent, person_id, self._names(new), now_us)
        self._place(connection, owner_agent, person_id, new.addresses, now_us)
        _open_new(connection, owner_agent, new, ())
        raise_version(connection, owner_agent)
        return read_people(connection, owner_agent, [person_id])[0]

    def update(self, connection: Connection, known: Person, new: NewPerson, now_us: int) -> Person:
        """By hand: from now on the settings file has no say in what was changed."""
        _open_new(connection, known.owner_agent, new, known.addresses)
        changed = self.apply(connection, known, new, now_us)
        if said(changed.as_written) != said(known.as_written):
            mine = people_seeds.c.person_id == known.id
            connection.execute(update(people_seeds).where(mine).values(changed=True))
        return changed

    def apply(self, connection: Connection, known: Person, new: NewPerson, now_us: int) -> Person:
        book, address = known.owner_agent, _kept_address(known, new)
        refuse_taken(connection, book, known.id, address)
        values = {**_columns(new, address), "updated_at": now_us}
        connection.execute(update(people).where(people.c.id == known.id).values(values))
        self._rename(connection, book, known.id, new, now_us)
        self._place(connection, book, known.id, new.addresses, now_us)
        raise_version(connection, book)
        return read_people(connection, book, [known.id])[0]

    def prove(self, connection: Connection, person_id: str, channel: str, address: str, now_us: int) -> Person:
        """Of one of the household's people; raises Refused when another has proved the address before."""
        connection.execute(select(people.c.id).where(people.c.id == person_id).with_for_update())
        known = read_people(connection, HOUSEHOLD_OWNER, [person_id])
        if not known:
            raise Refused(Code.NOT_FOUND, "there is no such person")
        reopen(connection, channel, address)
        return self.update(connection, known[0], with_proof(known[0], channel, address, now_us), now_us)

    def remove(self, connection: Connection, owner_agent: str, person_id: str) -> bool:
        gone = delete(people).where(people.c.id == person_id, people.c.owner_agent == owner_agent)
        if not connection.execute(gone).rowcount:
            return False
        raise_version(connection, owner_agent)
        return True

    def name_again(self, connection: Connection, known: Person, now_us: int) -> None:
        """For people who came into the book by a way that knows nothing of how names are compared."""
        self._rename(connection, known.owner_agent, known.id, known.as_written, now_us)
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

    def _new_address(
        self, connection: Connection, owner_agent: str, person_id: str, new: NewPerson, source: str
    ) -> str:
        if new.role is PersonRole.OWNER:
            return HOUSEHOLD_OWNER
        if new.agent_address is not None:
            refuse_taken(connection, owner_agent, person_id, new.agent_address)
            return new.agent_address
        own = user_address(person_id) if source == SIGN_IN else ""
        if own and not is_taken(connection, owner_agent, person_id, own):
            return own
        return CONTACT_PREFIX + person_id

    def _rename(self, connection: Connection, owner_agent: str, person_id: str, new: NewPerson, now_us: int) -> None:
        """An alias row never changes: what is no longer said goes, what is new comes under a new id."""
        table = contact_aliases.c
        wanted = self._names(new)
        asked = select(table.id, table.alias, table.is_name).where(table.contact_id == person_id)
        known = {(row.alias, row.is_name): row.id for row in connection.execute(asked)}
        gone = [row_id for key, row_id in known.items() if key not in wanted]
        if gone:
            connection.execute(delete(contact_aliases).where(table.id.in_(gone)))
        missing = {key: keys for key, keys in wanted.items() if key not in known}
        self._add_names(connection, owner_agent, person_id, missing, now_us)

    def _add_names(
        self,
        connection: Connection,
        owner_agent: str,
        person_id: str,
        names: Mapping[tuple[str, bool], Keys],
        now_us: int,
    ) -> None:
        rows = [
            {
                "id": self.mint(now_us),
                "contact_id": person_id,
                "owner_agent": owner_agent,
                "alias": alias,
                "is_name": is_name,
                **_key_columns(keys),
            }
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

    def _place(
        self,
        connection: Connection,
        owner_agent: str,
        person_id: str,
        addresses: tuple[PersonAddress, ...],
        now_us: int,
    ) -> None:
        connection.execute(delete(person_addresses).where(person_addresses.c.person_id == person_id))
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
            for one in _distinct(addresses)
        ]
        for row in rows:
            if row["verified_at"] is not None:
                _refuse_proved(connection, row)
        if rows:
            connection.execute(insert(person_addresses), rows)


def _open_new(connection: Connection, book: str, new: NewPerson, before: tuple[PersonAddress, ...]) -> None:
    """Who writes an address down in the household's book means it: that mail to it came back is forgotten."""
    for one in new.addresses if book == HOUSEHOLD_OWNER else ():
        if not any(is_at(known, one.channel, one.address) for known in before):
            reopen(connection, one.channel, one.address, Closing.BOUNCED)


def said(person: NewPerson) -> str:
    """As far as the settings file could have said it: that an address was proved is no contradiction to the file."""
    places = sorted((one.channel, folded(one.address), one.rank) for one in person.addresses)
    parts = [person.name, list(person.aliases), person.agent_address, str(person.role), person.trusted]
    return json.dumps([*parts, person.zone, person.language, places], ensure_ascii=False)


def refuse_taken(connection: Connection, owner_agent: str, person_id: str, address: str) -> None:
    if is_taken(connection, owner_agent, person_id, address):
        raise Refused(Code.CONTACT_EXISTS, "another contact in this book has this agent address")


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
    return {
        "name": new.name,
        "agent_address": address,
        "role": new.role,
        "trusted": new.trusted,
        "zone": new.zone,
        "language": new.language,
        "default_butler": new.default_butler,
    }


def _key_columns(keys: Keys) -> dict[str, Any]:
    return {
        "normal": keys.normal,
        "folded": keys.folded,
        "latin": keys.latin,
        "skeletons": json.dumps(keys.skeletons),
        "script": keys.script,
    }
