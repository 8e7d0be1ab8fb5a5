"""People as rows, and rows as people."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Row, RowMapping, Select, and_, insert, or_, select, update

from postroom.domain.address_folding import folded
from postroom.domain.agent_address import SCHEME
from postroom.domain.contact_book import Entry, Keys
from postroom.domain.person import SIGN_IN, Person, PersonAddress, PersonRole
from postroom.world.store.engine.rows import read
from postroom.world.store.people.closed_addresses import closed_of
from postroom.world.store.tables.closed_addresses import closed_addresses
from postroom.world.store.tables.contacts import contact_aliases, contact_books
from postroom.world.store.tables.people import people, person_addresses

_MOST_PARAMETERS: Final = 500
_NUMBER: Final = re.compile(r"-?[0-9]+")

IN_CONTACT_BOOK: Final = and_(people.c.role != PersonRole.OWNER, people.c.source != SIGN_IN)
_OUTSIDE: Final = or_(people.c.role == PersonRole.OWNER, people.c.source == SIGN_IN)


def raise_version(connection: Connection, owner_agent: str) -> None:
    mine = contact_books.c.owner_agent == owner_agent
    if not connection.execute(update(contact_books).where(mine).values(version=contact_books.c.version + 1)).rowcount:
        connection.execute(insert(contact_books), {"owner_agent": owner_agent, "version": 1})


def version_of(connection: Connection, owner_agent: str) -> int:
    asked = select(contact_books.c.version).where(contact_books.c.owner_agent == owner_agent)
    return connection.execute(asked).scalar() or 0


def read_people(connection: Connection, owner_agent: str, ids: Sequence[str]) -> list[Person]:
    """In the order of the ids that were found."""
    found: dict[str, RowMapping] = {}
    names: dict[str, list[str]] = {}
    places: dict[str, list[PersonAddress]] = {}
    for some in slices(ids):
        mine = people.c.owner_agent == owner_agent
        rows = connection.execute(select(people).where(mine, people.c.id.in_(some))).mappings()
        found |= {row["id"]: row for row in rows}
        for alias in connection.execute(_aliases(some)):
            names.setdefault(alias.contact_id, []).append(alias.alias)
        for place in connection.execute(_addresses(some)):
            places.setdefault(place.person_id, []).append(_address_of(place))
    return [
        person_of(found[one], tuple(names.get(one, ())), tuple(places.get(one, ())))
        for one in dict.fromkeys(ids)
        if one in found
    ]


def _aliases(ids: Sequence[str]) -> Select[Any]:
    table = contact_aliases.c
    asked = select(table.contact_id, table.alias).where(table.contact_id.in_(ids), table.is_name.is_(False))
    return asked.order_by(table.id)


def _addresses(ids: Sequence[str]) -> Select[Any]:
    """With what came back from them, if anything did."""
    table, closed = person_addresses.c, closed_addresses.c
    here = and_(closed.channel == table.channel, closed.folded == table.folded)
    marks = (closed.reason, closed.words, closed.delivery_id, closed.closed_at)
    found = select(person_addresses, *marks).outerjoin(closed_addresses, here)
    return found.where(table.person_id.in_(ids)).order_by(table.rank, table.id)


def with_address(connection: Connection, owner_agent: str, address: str) -> Person | None:
    """The one contact that is reached under this address, of whatever kind."""
    wanted = folded(address.strip())
    if wanted.startswith(SCHEME):
        is_reached: ColumnElement[bool] = people.c.agent_address == wanted
    elif _NUMBER.fullmatch(wanted) or "@" in wanted:
        is_reached = people.c.id.in_(holding(owner_agent, wanted))
    else:  # any other word is a name before it is an address
        return None
    asked = select(people.c.id).where(people.c.owner_agent == owner_agent, is_reached, IN_CONTACT_BOOK)
    ids = list(connection.execute(asked.limit(2)).scalars())
    return read_people(connection, owner_agent, ids)[0] if len(ids) == 1 else None


def holding(owner_agent: str, wanted: str, channel: str | None = None) -> Select[Any]:
    """Ids of the people with this folded address, on one channel or on any."""
    table = person_addresses.c
    asked = select(table.person_id).where(table.owner_agent == owner_agent, table.folded == wanted)
    return asked if channel is None else asked.where(table.channel == channel)


def searchable(owner_agent: str) -> ColumnElement[bool]:
    """Names of contacts; those of the few people outside the contact book are left out."""
    outside = select(people.c.id).where(people.c.owner_agent == owner_agent, _OUTSIDE)
    return and_(contact_aliases.c.owner_agent == owner_agent, contact_aliases.c.contact_id.not_in(outside))


def read_entries(connection: Connection, owner_agent: str, only: set[str] | None) -> list[Entry]:
    table = contact_aliases.c
    columns = (
        table.id,
        table.contact_id,
        table.alias,
        table.normal,
        table.folded,
        table.latin,
        table.skeletons,
        table.script,
    )
    asked = select(*columns).where(searchable(owner_agent))
    if only is None:
        rows = list(connection.execute(asked))
    else:
        rows = [row for some in slices(sorted(only)) for row in connection.execute(asked.where(table.id.in_(some)))]
    return [
        Entry(
            row.id,
            row.contact_id,
            row.alias,
            Keys(row.normal, row.folded, row.latin, tuple(json.loads(row.skeletons)), row.script),
        )
        for row in rows
    ]


def person_of(
    row: Mapping[str, Any] | RowMapping, aliases: tuple[str, ...], addresses: tuple[PersonAddress, ...]
) -> Person:
    return read(Person, row, aliases=aliases, addresses=addresses)


def _address_of(row: Row[Any]) -> PersonAddress:
    return read(PersonAddress, row, came_back=closed_of(row) if row.reason is not None else None)


def slices(values: Iterable[str]) -> Iterable[list[str]]:
    """Databases take only so many parameters at once."""
    everything = list(values)
    for start in range(0, len(everything), _MOST_PARAMETERS):
        yield everything[start : start + _MOST_PARAMETERS]
