"""Confirmed choices and offered candidates on disk."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from postroom.domain.contact import Candidate, MatchType
from postroom.domain.contact_book import BookGlance, Keys, Offer, Remembered
from postroom.domain.person import Person
from postroom.world.store.engine.database import Database
from postroom.world.store.engine.retry_conflict import write_twice
from postroom.world.store.engine.rows import read, values
from postroom.world.store.people.people_rows import read_people, version_of, with_address
from postroom.world.store.tables.contacts import contact_memory, contact_offers


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
