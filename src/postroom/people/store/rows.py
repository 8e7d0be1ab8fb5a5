"""People as rows, and rows as people."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    Row,
    Select,
    and_,
    bindparam,
    delete,
    insert,
    literal,
    null,
    or_,
    select,
    union_all,
    update,
)

from postroom.kernel.database.engine import Database
from postroom.kernel.database.prepared import Prepared
from postroom.kernel.database.rows import read
from postroom.kernel.values.principal import HOUSEHOLD_OWNER, SCHEME
from postroom.message.delivery import ClosedAddress, HeldAddress, folded
from postroom.people.model import SIGN_IN, Entry, Keys, Person, PersonAddress, PersonRole
from postroom.people.store.tables import closed_addresses, contact_aliases, contact_books, people, person_addresses

_MOST_PARAMETERS: Final = 500
_NUMBER: Final = re.compile(r"-?[0-9]+")
IN_CONTACT_BOOK: Final = and_(people.c.role != PersonRole.OWNER, people.c.source != SIGN_IN)
_OUTSIDE: Final = or_(people.c.role == PersonRole.OWNER, people.c.source == SIGN_IN)


# Asked for whoever presses a button, and for the owner.
_IDS: Final[BindParameter[Any]] = bindparam("ids", expanding=True)
_ITS_OWNER: Final[BindParameter[str]] = bindparam("its_owner")
_places, _closed = person_addresses.c, closed_addresses.c
_VERSION: Final = Prepared(select(contact_books.c.version).where(contact_books.c.owner_agent == _ITS_OWNER))
_PEOPLE: Final = Prepared(select(people).where(people.c.owner_agent == _ITS_OWNER, people.c.id.in_(_IDS)))
_ALIASES: Final = Prepared(
    select(contact_aliases.c.contact_id, contact_aliases.c.alias)
    .where(contact_aliases.c.contact_id.in_(_IDS), contact_aliases.c.is_name.is_(False))
    .order_by(contact_aliases.c.id)
)
_ADDRESSES: Final = Prepared(  # with what came back from them, if anything did
    select(person_addresses, _closed.reason, _closed.words, _closed.delivery_id, _closed.closed_at)
    .outerjoin(closed_addresses, and_(_closed.channel == _places.channel, _closed.folded == _places.folded))
    .where(_places.person_id.in_(_IDS))
    .order_by(_places.rank, _places.id)
)


def raise_version(connection: Connection, owner_agent: str) -> None:
    mine = contact_books.c.owner_agent == owner_agent
    if not connection.execute(update(contact_books).where(mine).values(version=contact_books.c.version + 1)).rowcount:
        connection.execute(insert(contact_books), {"owner_agent": owner_agent, "version": 1})


def version_of(connection: Connection, owner_agent: str) -> int:
    return _VERSION.run(connection, {"its_owner": owner_agent}).scalar() or 0


def read_people(connection: Connection, owner_agent: str, ids: Sequence[str]) -> list[Person]:
    """In the order of the ids that were found."""
    found: dict[str, Any] = {}
    names: dict[str, list[str]] = {}
    places: dict[str, list[PersonAddress]] = {}
    for some in slices(ids):
        found |= {row.id: row for row in _PEOPLE.run(connection, {"its_owner": owner_agent, "ids": some})}
        for alias in _ALIASES.run(connection, {"ids": some}):
            names.setdefault(alias.contact_id, []).append(alias.alias)
        for place in _ADDRESSES.run(connection, {"ids": some}):
            places.setdefault(place.person_id, []).append(_address_of(place))
    return [
        read(Person, found[one], aliases=tuple(names.get(one, ())), addresses=tuple(places.get(one, ())))
        for one in dict.fromkeys(ids)
        if one in found
    ]


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
    asked = select(contact_aliases).where(searchable(owner_agent))
    if only is None:
        rows = list(connection.execute(asked))
    else:
        rows = [row for some in slices(sorted(only)) for row in connection.execute(asked.where(table.id.in_(some)))]
    return [read(Entry, row, keys=read(Keys, row)) for row in rows]


def _address_of(row: Row[Any]) -> PersonAddress:
    return read(PersonAddress, row, came_back=closed_of(row) if row.reason is not None else None)


def slices(values: Iterable[str]) -> Iterable[list[str]]:
    """Databases take only so many parameters at once."""
    everything = list(values)
    for start in range(0, len(everything), _MOST_PARAMETERS):
        yield everything[start : start + _MOST_PARAMETERS]


# The names behind the addresses of one page, in one query.

_MOST_ASKED: Final = 1000  # of each kind; a page has fewer
_MOST_HOLDERS: Final = 5000


class StoredHeldAddresses:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def held(self, folded: Collection[str], ids: Collection[str]) -> Sequence[HeldAddress]:
        """Those at these folded addresses on any channel, and those with these ids; of the household's own people."""
        asked = union_all(_holders(sorted(folded)[:_MOST_ASKED]), _without_place(sorted(ids)[:_MOST_ASKED]))
        rows = await self._database.read(lambda connection: connection.execute(asked).all())
        return [read(HeldAddress, row, person_id=row.id, name=row.name or row.id) for row in rows]


def _holders(folded: Sequence[str]) -> Select[Any]:
    place = person_addresses.c
    proved = place.verified_at.is_not(None).label("is_verified")
    found = select(people.c.id, people.c.name, place.channel, place.folded, proved)
    found = found.join(person_addresses, place.person_id == people.c.id)
    found = found.where(place.owner_agent == HOUSEHOLD_OWNER, place.folded.in_(folded)).limit(_MOST_HOLDERS)
    return select(found.subquery())


def _without_place(ids: Sequence[str]) -> Select[Any]:
    nowhere = (null().label("channel"), null().label("folded"), literal(False).label("is_verified"))
    mine = and_(people.c.owner_agent == HOUSEHOLD_OWNER, people.c.id.in_(ids))
    return select(people.c.id, people.c.name, *nowhere).where(mine)


# Addresses from which mail came back: closed or doubted together with the news of it, cleared by people.

_closed = closed_addresses.c


class StoredClosedAddresses:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def closed(self, channel: str, address: str) -> ClosedAddress | None:
        """None also while it is only doubted."""
        found = await self._database.read(lambda connection: closed_at(connection, channel, address))
        return found if found is not None and found.is_closed else None

    async def reopen_bounced(self, channel: str, address: str) -> bool:
        """They wrote to us from there, so it takes mail."""
        if await self._database.read(lambda connection: closed_at(connection, channel, address)) is None:
            return False
        await self._database.write(lambda connection: reopen(connection, channel, address))
        return True

    async def newest(self, limit: int) -> Sequence[ClosedAddress]:
        asked = select(closed_addresses).order_by(_closed.closed_at.desc()).limit(limit)
        return await self._database.read(lambda connection: [closed_of(row) for row in connection.execute(asked)])


def closed_at(connection: Connection, channel: str, address: str) -> ClosedAddress | None:
    row = connection.execute(select(closed_addresses).where(_at(channel, address))).first()
    return closed_of(row) if row else None


def reopen(connection: Connection, channel: str, address: str) -> None:
    connection.execute(delete(closed_addresses).where(_at(channel, address)))


def forget_bounces(connection: Connection, places: Iterable[tuple[str, str]]) -> None:
    """At these addresses on these channels, in one statement for all of them."""
    here = _closed.channel == bindparam("on_channel"), _closed.folded == bindparam("at_address")
    rows = [{"on_channel": channel, "at_address": folded(address.strip())} for channel, address in places]
    if rows:
        connection.execute(delete(closed_addresses).where(*here), rows)


def closed_of(row: Row[Any]) -> ClosedAddress:
    return read(ClosedAddress, row, at_us=row.closed_at)


def _at(channel: str, address: str) -> ColumnElement[bool]:
    return and_(_closed.channel == channel, _closed.folded == folded(address.strip()))
