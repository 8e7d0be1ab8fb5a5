"""Confirmed choices and offered candidates on disk."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final

from sqlalchemy import Connection, Row, Select, and_, delete, insert, or_, select, update

from postroom.kernel.database.engine import Database, write_twice
from postroom.kernel.database.rows import read, values
from postroom.message.address import folded
from postroom.people.model import BookGlance, Candidate, Keys, MatchType, Offer, Person, Remembered
from postroom.people.store.rows import read_people, version_of, with_address
from postroom.people.store.tables import contact_aliases, contact_memory, contact_offers, people, person_addresses


class StoredMemory:
    def __init__(self, database: Database, keys_of: Callable[[str], Keys]) -> None:
        self._database = database
        self._keys_of = keys_of

    async def glance(self, owner_agent: str, query: str, address: str) -> BookGlance:
        def work(connection: Connection) -> BookGlance:
            memory = _recalled(connection, owner_agent, query)
            remembered = read_people(connection, owner_agent, [memory.contact_id]) if memory else []
            return BookGlance(
                version=version_of(connection, owner_agent),
                memory=memory,
                remembered=remembered[0] if remembered else None,
                addressed=with_address(connection, owner_agent, address) if address else None,
            )

        return await self._database.read(work)

    async def offer(self, offer: Offer) -> None:
        """Whatever has expired goes at the same time."""
        row = values(
            offer, candidates=json.dumps([_candidate_row(one) for one in offer.candidates], ensure_ascii=False)
        )

        def work(connection: Connection) -> None:
            connection.execute(delete(contact_offers).where(contact_offers.c.expires_at <= offer.created_at_us))
            connection.execute(insert(contact_offers), row)

        await write_twice(self._database, work)

    async def offered(self, token_hash: str, owner_agent: str, now_us: int) -> Offer | None:
        asked = select(contact_offers).where(
            contact_offers.c.token_hash == token_hash,
            contact_offers.c.owner_agent == owner_agent,
            contact_offers.c.expires_at > now_us,
        )
        row = await self._database.read(lambda connection: connection.execute(asked).first())
        return _offer(row) if row else None

    async def contact_by_address(self, owner_agent: str, agent_address: str) -> Person | None:
        return await self._database.read(lambda connection: with_address(connection, owner_agent, agent_address))

    async def remember(self, memory: Remembered, token_hash: str | None) -> Remembered | None:
        def work(connection: Connection) -> Remembered | None:
            found = read_people(connection, memory.owner_agent, [memory.contact_id])
            if not found or found[0].fingerprint != memory.fingerprint or not self._has_alias(found[0], memory.alias):
                return None
            if token_hash is not None:
                used = delete(contact_offers).where(contact_offers.c.token_hash == token_hash)
                if not connection.execute(used).rowcount:
                    return None
            return _remember(connection, memory)

        return await write_twice(self._database, work)

    def _has_alias(self, contact: Person, alias: str) -> bool:
        wanted = self._keys_of(alias).normal
        return any(self._keys_of(name).normal == wanted for name in (contact.name, *contact.aliases))

    async def refreshed(self, memory: Remembered, book_version: int) -> None:
        changed = update(contact_memory).where(contact_memory.c.id == memory.id).values(book_version=book_version)
        await self._database.write(lambda connection: connection.execute(changed).rowcount)

    async def drop(self, memory: Remembered) -> None:
        gone = delete(contact_memory).where(contact_memory.c.id == memory.id)
        await self._database.write(lambda connection: connection.execute(gone).rowcount)

    async def forget(self, owner_agent: str, memory_id: str) -> bool:
        gone = delete(contact_memory).where(
            contact_memory.c.id == memory_id, contact_memory.c.owner_agent == owner_agent
        )
        return await self._database.write(lambda connection: connection.execute(gone).rowcount > 0)

    async def listed(self, owner_agent: str, *, after: str | None, limit: int) -> Sequence[Remembered]:
        asked = select(contact_memory).where(contact_memory.c.owner_agent == owner_agent)
        if after is not None:
            asked = asked.where(contact_memory.c.id > after)
        asked = asked.order_by(contact_memory.c.id).limit(limit)
        return await self._database.read(lambda connection: [_memory(row) for row in connection.execute(asked)])


def _recalled(connection: Connection, owner_agent: str, query: str) -> Remembered | None:
    asked = select(contact_memory).where(contact_memory.c.owner_agent == owner_agent, contact_memory.c.query == query)
    row = connection.execute(asked).first()
    return _memory(row) if row else None


def _remember(connection: Connection, memory: Remembered) -> Remembered:
    """The same choice again counts up; another choice takes its place."""
    known = _recalled(connection, memory.owner_agent, memory.query)
    if known is not None:
        connection.execute(delete(contact_memory).where(contact_memory.c.id == known.id))
    count = known.confirm_count + 1 if known and known.contact_id == memory.contact_id else 1
    row = values(memory, confirm_count=count, created_at=known.created_at_us if known else memory.created_at_us)
    connection.execute(insert(contact_memory), row)
    found = _recalled(connection, memory.owner_agent, memory.query)
    return found or memory


def _memory(row: Row[Any]) -> Remembered:
    return read(Remembered, row)


def _candidate_row(candidate: Candidate) -> dict[str, Any]:
    return candidate.document() | {"contact_id": candidate.contact_id, "fingerprint": candidate.fingerprint}


def _offer(row: Row[Any]) -> Offer:
    return read(
        Offer,
        row,
        candidates=tuple(
            Candidate(**{**one, "match_type": MatchType(one["match_type"])}) for one in json.loads(row.candidates)
        ),
    )


# A contact book in the order of its names, or only those that hold some words.


_NAMES: Final = contact_aliases.c


class StoredContactSearch:
    def __init__(self, database: Database, keys_of: Callable[[str], Keys]) -> None:
        self._database = database
        self._keys_of = keys_of

    async def listed(self, owner_agent: str, words: str, *, after: str | None, limit: int) -> Sequence[Person]:
        """`after` is the id the page before ended with."""
        asked = select(_NAMES.contact_id).where(_NAMES.owner_agent == owner_agent, _NAMES.is_name)
        if words.strip():
            asked = asked.where(_NAMES.contact_id.in_(self._holding(owner_agent, words)))

        def work(connection: Connection) -> Sequence[Person]:
            ids = connection.execute(_from_there(connection, asked, after).limit(limit)).scalars()
            return read_people(connection, owner_agent, list(ids))

        return await self._database.read(work)

    def _holding(self, owner_agent: str, words: str) -> Select[Any]:
        """In a name however it is written, or in an address; a word that is no name has no letters to look for."""
        keys, typed = self._keys_of(words), folded(words.strip())
        forms = [(_NAMES.folded, keys.folded), (_NAMES.latin, keys.latin)]
        named = [column.contains(form, autoescape=True) for column, form in forms if form]
        places = select(person_addresses.c.person_id).where(
            person_addresses.c.owner_agent == owner_agent, person_addresses.c.folded.contains(typed, autoescape=True)
        )
        reached = [people.c.agent_address.contains(typed, autoescape=True), people.c.id.in_(places)]
        return (
            select(people.c.id)
            .join(contact_aliases, _NAMES.contact_id == people.c.id)
            .where(people.c.owner_agent == owner_agent, or_(*named, *reached))
        )


def _from_there(connection: Connection, asked: Select[Any], after: str | None) -> Select[Any]:
    """A contact that was deleted meanwhile is no place to go on from, so the list begins again."""
    found = asked.order_by(_NAMES.folded, _NAMES.contact_id)
    if after is None:
        return found
    last = connection.execute(select(_NAMES.folded).where(_NAMES.contact_id == after, _NAMES.is_name)).scalar()
    if last is None:
        return found
    same = and_(_NAMES.folded == last, _NAMES.contact_id > after)
    return found.where(or_(_NAMES.folded > last, same))
