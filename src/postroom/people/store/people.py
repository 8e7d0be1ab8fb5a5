"""People on disk, each in one book, and what was confirmed of their names."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, TypeVar

from sqlalchemy import Column, ColumnElement, Connection, Select, and_, delete, false, insert, or_, select, update

from postroom.kernel.database.engine import Database, write_twice
from postroom.kernel.database.rows import read, values
from postroom.kernel.values.errors import Code, Refused, StoreUnavailable
from postroom.kernel.values.principal import HOUSEHOLD_OWNER, OWNER
from postroom.message.delivery import folded
from postroom.people.model import (
    BookGlance,
    Entry,
    NewPerson,
    Offer,
    Overruled,
    Person,
    PersonRole,
    Remembered,
)
from postroom.people.names.normalise import has_alias, keys_of, normalise
from postroom.people.store import seeding, writing
from postroom.people.store.rows import (
    IN_CONTACT_BOOK,
    holding,
    read_entries,
    read_people,
    reopen,
    searchable,
    version_of,
    with_address,
)
from postroom.people.store.tables import (
    contact_aliases,
    contact_memory,
    contact_offers,
    people,
    people_seeds,
    person_addresses,
)
from postroom.people.store.writing import BookWriter, refuse_role

_CARDS_AT_ONCE: Final = 200
_LONGEST: Final = 1_000  # no name and no address is longer, and comparing names takes time by the letter
_NAMES: Final = contact_aliases.c
Result = TypeVar("Result")
Hear = Callable[[], Awaitable[object]]
Eraser = Callable[[Connection, str, int], object]  # of the id of one who is removed, and now


class StoredPeople:
    """
    `changes` counts what was written through this object, for those in this process who hold a view of people.

    `erasers` take away what other slices keep of one who is removed from the household's book, in the same
    transaction. They have no default, so that no place that can remove a person leaves their words behind.
    """

    def __init__(self, database: Database, mint: Callable[[int], str], erasers: Sequence[Eraser]) -> None:
        self._database = database
        self._mint = mint
        self._erasers = tuple(erasers)
        self.changes = 0
        self._hearing: list[Hear] = []

    def tell(self, hear: Hear) -> None:
        """Of every change, before the one who made it goes on."""
        self._hearing.append(hear)

    async def entry_ids(self, owner_agent: str) -> set[str]:
        asked = select(_NAMES.id).where(searchable(owner_agent))
        return await self._database.read(lambda connection: set(connection.execute(asked).scalars()))

    async def entries(self, owner_agent: str, only: set[str] | None = None) -> Sequence[Entry]:
        """The names of contacts, which may be likened to what was asked."""
        return await self._database.read(lambda connection: read_entries(connection, owner_agent, only))

    async def people(self, owner_agent: str, ids: Sequence[str]) -> Mapping[str, Person]:
        found = await self._database.read(lambda connection: read_people(connection, owner_agent, ids))
        return {person.id: person for person in found}

    async def get(self, owner_agent: str, person_id: str) -> Person | None:
        return (await self.people(owner_agent, [person_id])).get(person_id)

    async def by_address(self, owner_agent: str, address: str) -> Person | None:
        """A contact, by the agent address or by one that can be told from a name."""
        return await self._database.read(lambda connection: with_address(connection, owner_agent, address))

    async def named(self, owner_agent: str, name: str) -> Sequence[Person]:
        """People with exactly this name or alias, the owner and those who sign in among them."""
        if len(name) > _LONGEST:
            return []
        asked = select(_NAMES.contact_id).where(_NAMES.owner_agent == owner_agent, _NAMES.normal == normalise(name))
        return await self._database.read(_reading(owner_agent, asked))

    async def find(self, owner_agent: str, who: str) -> Sequence[Person]:
        """By id, exact name or alias; `owner` means the owner and no other."""
        if who.strip().lower() == OWNER and owner_agent == HOUSEHOLD_OWNER:
            return list((await self.people(owner_agent, [OWNER])).values())
        if known := await self.get(owner_agent, who.strip()):
            return [known]
        return await self.named(owner_agent, who)

    async def at(self, owner_agent: str, channel: str, address: str) -> Sequence[Person]:
        """Those with this address on this channel; one at most has proved it."""
        if len(address) > _LONGEST:
            return []
        return await self._database.read(_reading(owner_agent, holding(owner_agent, folded(address.strip()), channel)))

    async def page(
        self,
        owner_agent: str,
        *,
        begins: str | None = None,
        role: PersonRole | None = None,
        only_contacts: bool = False,
        after: str | None,
        limit: int,
    ) -> Sequence[Person]:
        """
        In the order of their ids, after the one the page before ended with.

        With `begins`, those of whom a name or an alias begins so, however it is written.
        """
        asked = select(people.c.id).where(people.c.owner_agent == owner_agent).order_by(people.c.id).limit(limit)
        if begins is not None and begins.strip():
            asked = asked.where(_begin(owner_agent, begins))
        if role is not None:
            asked = asked.where(people.c.role == role)
        if only_contacts:
            asked = asked.where(IN_CONTACT_BOOK)
        if after is not None:
            asked = asked.where(people.c.id > after)
        return await self._database.read(
            lambda connection: read_people(connection, owner_agent, list(connection.execute(asked).scalars()))
        )

    async def search(self, owner_agent: str, words: str, *, after: str | None, limit: int) -> Sequence[Person]:
        """Everybody, or those of whom a name or an address holds these words, by name; `after` is an id."""
        asked = select(_NAMES.contact_id).where(_NAMES.owner_agent == owner_agent, _NAMES.is_name)
        if words.strip():
            asked = asked.where(_NAMES.contact_id.in_(_containing(owner_agent, words)))

        def work(connection: Connection) -> Sequence[Person]:
            ids = connection.execute(_from_there(connection, asked, after).limit(limit)).scalars()
            return read_people(connection, owner_agent, list(ids))

        return await self._database.read(work)

    async def unreachable(self, owner_agent: str, channels: Collection[str], limit: int) -> Sequence[tuple[str, str]]:
        """Names, and the channel of an address that is none of these."""
        table = person_addresses.c
        asked = (
            select(people.c.name, table.channel)
            .distinct()
            .join(people, people.c.id == table.person_id)
            .where(table.owner_agent == owner_agent, table.channel.not_in(list(channels)))
            .order_by(table.channel, people.c.name)
            .limit(limit)
        )
        return await self._database.read(lambda connection: [(one, on) for one, on in connection.execute(asked)])

    async def unproved(self, owner_agent: str, limit: int) -> Sequence[str]:
        """Names of those without a verified address; those who decide come before contacts."""
        table = person_addresses.c
        proved = select(table.person_id).where(table.owner_agent == owner_agent, table.verified_at.is_not(None))
        asked = select(people.c.name).where(people.c.owner_agent == owner_agent, people.c.id.not_in(proved))
        asked = asked.order_by(people.c.role == PersonRole.CONTACT, people.c.name).limit(limit)
        return await self._database.read(lambda connection: list(connection.execute(asked).scalars()))

    async def version(self, owner_agent: str) -> int:
        """Another one after every change in this book, by any process."""
        return await self._database.read(lambda connection: version_of(connection, owner_agent))

    async def known(self, owner_agent: str) -> tuple[int, Sequence[Person]]:
        """The version of the book, with the household's own people and those who are trusted."""
        wanted = or_(people.c.role != PersonRole.CONTACT, people.c.trusted)
        found = _reading(owner_agent, select(people.c.id).where(people.c.owner_agent == owner_agent, wanted))
        return await self._database.read(lambda connection: (version_of(connection, owner_agent), found(connection)))

    async def reopen(self, channel: str, address: str) -> None:
        """It is written to again, whatever had closed it."""
        await self._write(lambda connection: reopen(connection, channel, address))

    async def create(
        self, owner_agent: str, new: NewPerson, *, source: str, now_us: int, reserved_id: str | None = None
    ) -> Person:
        """Raises Refused when the address is another's; who is there under a reserved id was made before."""
        refuse_role(None, new)
        person_id = reserved_id or self._mint(now_us)

        def work(writer: BookWriter) -> Person:
            if reserved_id and (made := writer.read([reserved_id])):
                return made[0]
            return writer.insert(person_id, new, source)

        return await self.write(work, now_us, book=owner_agent)

    async def change(
        self, owner_agent: str, person_id: str, edit: Callable[[Person], NewPerson], *, now_us: int
    ) -> Person | None:
        """Read, edit and write as one step; None when there is no such person."""

        def work(writer: BookWriter) -> Person | None:
            if (known := writer.held(person_id)) is None:
                return None
            new = edit(known)
            refuse_role(known, new)
            return writer.update(known, new)

        return await self.write(work, now_us, book=owner_agent)

    async def delete(self, owner_agent: str, person_id: str, *, now_us: int = 0) -> bool:
        """With what the erasers take away; in the books of others nothing more than the contact goes."""
        if (owner_agent, person_id) == (HOUSEHOLD_OWNER, OWNER):
            raise Refused(Code.POLICY_DENIED, "the owner of the household cannot be removed")

        def work(writer: BookWriter) -> bool:
            if not writer.remove(person_id):
                return False
            mine = people_seeds.c.person_id == person_id
            writer.connection.execute(update(people_seeds).where(mine).values(changed=True))
            if owner_agent == HOUSEHOLD_OWNER:
                for erase in self._erasers:
                    erase(writer.connection, person_id, now_us)
            return True

        return await self.write(work, now_us, book=owner_agent)

    async def merge(
        self,
        owner_agent: str,
        cards: Sequence[NewPerson],
        *,
        source: str,
        now_us: int,
    ) -> tuple[int, int]:
        """How many were new, and how many added something to a contact that was there."""
        created = updated = 0
        for start in range(0, len(cards), _CARDS_AT_ONCE):  # others want to write meanwhile
            some = cards[start : start + _CARDS_AT_ONCE]
            more = await self.write(partial(writing.merge, cards=some, source=source), now_us, book=owner_agent)
            created, updated = created + more[0], updated + more[1]
        return created, updated

    async def keep_in_step(self, owner_agent: str, wanted: Sequence[NewPerson], *, now_us: int) -> None:
        """With what the settings file says."""
        await self.write(lambda writer: seeding.keep_in_step(writer, wanted), now_us, book=owner_agent)

    async def overruled(self, owner_agent: str, wanted: Sequence[NewPerson]) -> Sequence[Overruled]:
        return await self._database.read(lambda connection: seeding.overruled(connection, owner_agent, wanted))

    async def admit(self, signing_in: Mapping[str, PersonRole], *, now_us: int) -> None:
        """People who can sign in and have no record get one in the household's book, under their id."""
        await self.write(lambda writer: seeding.admit(writer, signing_in), now_us)

    async def write(self, work: Callable[[BookWriter], Result], now_us: int, *, book: str = HOUSEHOLD_OWNER) -> Result:
        """One transaction in one book, also of those who write more than people in it."""
        return await self._write(lambda connection: work(BookWriter(connection, book, self._mint, now_us)))

    async def _write(self, work: Callable[[Connection], Result]) -> Result:
        try:
            done = await write_twice(self._database, work)
        finally:
            self.changes += 1
        for hear in self._hearing:
            with suppress(StoreUnavailable):  # it is written; they will look again
                await hear()
        return done


def _reading(owner_agent: str, ids: Select[Any]) -> Callable[[Connection], list[Person]]:
    return lambda connection: read_people(connection, owner_agent, sorted(set(connection.execute(ids).scalars())))


def _forms(words: str) -> list[tuple[Column[str], str]]:
    """Where a name is looked for however it is written, and by what; nowhere for what has no letters."""
    keys = keys_of(words)
    return [(column, form) for column, form in ((_NAMES.folded, keys.folded), (_NAMES.latin, keys.latin)) if form]


def _begin(owner_agent: str, words: str) -> ColumnElement[bool]:
    fitting = [column.startswith(form, autoescape=True) for column, form in _forms(words)]
    return people.c.id.in_(select(_NAMES.contact_id).where(_NAMES.owner_agent == owner_agent, or_(false(), *fitting)))


def _containing(owner_agent: str, words: str) -> Select[Any]:
    """In a name or in an address."""
    typed = folded(words.strip())
    named = [column.contains(form, autoescape=True) for column, form in _forms(words)]
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


# Confirmed choices and offered candidates on disk.


class StoredMemory:
    def __init__(self, database: Database) -> None:
        self._database = database

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

        def work(connection: Connection) -> None:
            connection.execute(delete(contact_offers).where(contact_offers.c.expires_at <= offer.created_at_us))
            connection.execute(insert(contact_offers), values(offer))

        await write_twice(self._database, work)

    async def offered(self, token_hash: str, owner_agent: str, now_us: int) -> Offer | None:
        asked = select(contact_offers).where(
            contact_offers.c.token_hash == token_hash,
            contact_offers.c.owner_agent == owner_agent,
            contact_offers.c.expires_at > now_us,
        )
        row = await self._database.read(lambda connection: connection.execute(asked).first())
        return read(Offer, row) if row else None

    async def remember(self, memory: Remembered, token_hash: str | None) -> Remembered | None:
        def work(connection: Connection) -> Remembered | None:
            found = read_people(connection, memory.owner_agent, [memory.contact_id])
            if not found or found[0].fingerprint != memory.fingerprint or not has_alias(found[0], memory.alias):
                return None
            if token_hash is not None:
                used = delete(contact_offers).where(contact_offers.c.token_hash == token_hash)
                if not connection.execute(used).rowcount:
                    return None
            return _remember(connection, memory)

        return await write_twice(self._database, work)

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
        return await self._database.read(
            lambda connection: [read(Remembered, row) for row in connection.execute(asked)]
        )


def _recalled(connection: Connection, owner_agent: str, query: str) -> Remembered | None:
    asked = select(contact_memory).where(contact_memory.c.owner_agent == owner_agent, contact_memory.c.query == query)
    row = connection.execute(asked).first()
    return read(Remembered, row) if row else None


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
